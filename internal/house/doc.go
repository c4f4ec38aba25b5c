// Package house holds no code: its test keeps the direction of imports between the packages of this project, and the
// modules each of them may use.
package house
