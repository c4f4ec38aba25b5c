//go:build !race

package main

// buildFlags build the tested program the way the test was built.
var buildFlags []string
