// Package testbullpen builds and runs the program itself for tests: with the race detector where the tests have it, in a
// folder of its own, on a free port. Whatever it starts ends with the test.
package testbullpen
