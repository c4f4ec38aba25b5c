// Command generate writes the rule files and the Grafana dashboard beside the table they come from. Run it with go generate in alerts.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"bullpen/alerts"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	for name, write := range map[string]func(io.Writer, alerts.Options) error{
		"recording.rules.yml": alerts.WriteRecording,
		"alerts.rules.yml":    alerts.WriteAlerts,
		"dashboard.json":      func(w io.Writer, _ alerts.Options) error { return alerts.WriteDashboard(w) },
	} {
		var b bytes.Buffer
		if err := write(&b, alerts.Options{}); err != nil {
			return err
		}
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
