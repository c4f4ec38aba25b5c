// Package access tells who uses the dashboard: users with a password or from an OpenID Connect provider, who get a
// session in a signed cookie; programs with a bearer token; and people a trusted proxy names. What each may do is
// decided in one place, the gate of package web.
package access
