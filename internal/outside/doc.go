// Package outside asks a Prometheus what it makes of Bullpen's rules, and an Alertmanager which of the alerts it knows and
// which silences hold, so that the alerts page can show that beside what Bullpen evaluates itself. It asks in the
// background, never for a viewer; what it keeps is bounded.
package outside
