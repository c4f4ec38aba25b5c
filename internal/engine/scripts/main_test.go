package scripts_test

import (
	"testing"

	"bullpen/internal/testredis"

	"go.uber.org/goleak"
)

var server *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &server)) }
