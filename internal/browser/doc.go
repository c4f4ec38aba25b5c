// Package browser tests Bullpen as its users meet it: the built program, a real Redis and a real Chromium. It holds
// tests only. One of them takes the pictures of the README; `make screenshots` keeps what it takes.
package browser
