package scripts_test

import (
	"testing"

	"bullpen/internal/engine/scripts"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

func TestLoad(t *testing.T) {
	require.NoError(t, scripts.New(server.Client(t)).Load(t.Context()))
	require.NoError(t, scripts.New(testredis.Memory(t)).Load(t.Context()))
}
