//go:build !race

package e2e

// buildFlags build the program the way the tests were built.
var buildFlags []string
