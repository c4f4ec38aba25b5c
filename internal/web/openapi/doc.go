// Package openapi writes an OpenAPI 3.1 document from a table of operations and the Go types they answer with, so that
// the document cannot say what the program does not.
package openapi
