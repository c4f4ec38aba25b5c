package alerts

import "embed"

// Files are the files beside the table: rules, their tests, the examples for Prometheus and Alertmanager, and the
// Grafana dashboard.
//
//go:embed *.yml dashboard.json
var Files embed.FS
