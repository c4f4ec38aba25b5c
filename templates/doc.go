// Package templates holds the pages and parts of the dashboard as templ components. A component receives a view model
// of plain values, ready to be shown, and fetches nothing. Every live region is a component of its own, so that the
// page and its update are the same code.
package templates
