// Package e2e holds the tests that need two and more servers on one Redis: what the policy promises over replicas. They
// run the real program. BULLPEN_SOAK, set to anything, makes the tests that kill it go on for longer.
package e2e
