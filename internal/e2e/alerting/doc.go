// Package alerting has the test of the whole way of an alert: jobs on a Node worker, two replicas of the program, a real
// Prometheus, a real Alertmanager, a webhook.
package alerting
