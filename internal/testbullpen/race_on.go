//go:build race

package testbullpen

// flavor names the folder of programs built the way the tests were built, buildFlags builds them so.
const flavor = "race"

func buildFlags() []string { return []string{"-race"} }
