// Package web is the dashboard's server: pages, the event stream, the API and the one gate that every write passes.
//
// A page is a view: a function that turns the last snapshot and an address into a component. The same function serves
// the page and, through the hub, the updates of everybody who looks at that address. A write is an Action in the
// registry (actions.go); the gate (gate.go) checks permission, origin, state and confirmation, runs it and records it.
package web
