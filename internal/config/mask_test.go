package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMasker(t *testing.T) {
	t.Parallel()
	masked := Masker(append(Default().Mask, "*_pin", "iban?"))
	for key, want := range map[string]bool{
		"password": true, "PassWord": true, "api_key": true, "apiKey": true, "API-KEY": true, "cvv": true,
		"card_pin": true, "userPin": true, "a/pin": true, "iban1": true,
		"passwords": false, "user": false, "iban": false, "pins": false, "": false,
	} {
		require.Equal(t, want, masked(key), key)
	}
}
