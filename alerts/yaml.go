package alerts

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options adjust the rules to one installation. The zero value gives the files beside this one.
type Options struct {
	// Job is the scrape job of Bullpen in Prometheus; default "bullpen".
	Job string
	// URL is where Bullpen is reached; runbook links lead there. Default "http://127.0.0.1:8080".
	URL string
	// Speed divides every time in the rules; default 1. With 60, what takes an hour takes a minute: for tests that run
	// real Prometheus.
	Speed float64
}

func (o Options) withDefaults() Options {
	if o.Job == "" {
		o.Job = "bullpen"
	}
	if o.URL == "" {
		o.URL = "http://127.0.0.1:8080"
	}
	if o.Speed == 0 {
		o.Speed = 1
	}
	return o
}

// interval is how often rules are evaluated.
const interval = 30 * time.Second

// WriteRecording writes the recording rules as a rule file for Prometheus.
func WriteRecording(w io.Writer, o Options) error {
	f := newFile(o)
	f.comment(0, "Recording rules for Bullpen. Generated from the table in this folder; do not edit.")
	f.line(0, "groups:")
	f.recordings("bullmq.recording.gauges", Gauges())
	f.recordings("bullmq.recording.rates", Rates())
	return f.writeTo(w)
}

// WriteAlerts writes the alerting rules as a rule file for Prometheus 2.42 or later.
func WriteAlerts(w io.Writer, o Options) error {
	f := newFile(o)
	f.comment(0, "Alerting rules for Bullpen; they need the recording rules. Generated from the table in this folder; do not edit.")
	f.line(0, "#")
	f.comment(0, "severity: critical = page, warning = ticket or chat, info = dashboard and digest, none = watchdog")
	f.comment(0, "component: queue, redis, exporter: the key of routing and inhibition in the Alertmanager")
	f.line(0, "groups:")
	for _, group := range []struct {
		name string
		of   []Component
	}{
		{"bullmq.alerts.exporter", []Component{Watchdog, Exporter}},
		{"bullmq.alerts.queue", []Component{Queue}},
		{"bullmq.alerts.redis", []Component{Redis}},
	} {
		f.group(group.name)
		for _, a := range Alerts(f.o.Job) {
			if slices.Contains(group.of, a.Component) {
				f.alert(a)
			}
		}
	}
	f.comment(2, "For a Redis that is also watched by redis_exporter, the same alert on its figures:")
	f.comment(2, "redis_memory_used_bytes / (redis_memory_max_bytes > 0) > "+strconv.FormatFloat(memoryHigh, 'g', -1, 64))
	return f.writeTo(w)
}

// file builds a rule file line by line.
type file struct {
	o Options
	p printer
	b strings.Builder
}

func newFile(o Options) *file {
	o = o.withDefaults()
	return &file{o: o, p: printer{o.Speed}}
}

func (f *file) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, f.b.String()); err != nil {
		return fmt.Errorf("writing rules: %w", err)
	}
	return nil
}

func (f *file) line(indent int, text string) {
	f.b.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// comment writes text in lines of at most 118 characters.
func (f *file) comment(indent int, text string) {
	for _, l := range wrap(text, 116-indent) {
		f.line(indent, "# "+l)
	}
}

func wrap(text string, width int) []string {
	var lines []string
	var now string
	for word := range strings.FieldsSeq(text) {
		if now != "" && len(now)+1+len(word) > width {
			lines = append(lines, now)
			now = ""
		}
		if now != "" {
			now += " "
		}
		now += word
	}
	return append(lines, now)
}

func (f *file) group(name string) {
	f.line(2, "- name: "+name)
	f.line(4, "interval: "+f.p.duration(interval))
	f.line(4, "rules:")
}

func (f *file) recordings(group string, rules []Recording) {
	f.group(group)
	for _, r := range rules {
		if r.Note != "" {
			f.comment(6, r.Note)
		}
		f.line(6, "- record: "+r.Name)
		f.expr(r.Expr)
	}
}

func (f *file) expr(e Expr) {
	lines := strings.Split(f.p.print(e, 0), "\n")
	if len(lines) == 1 {
		f.line(8, "expr: "+plain(lines[0]))
		return
	}
	f.line(8, "expr: |-")
	for _, l := range lines {
		f.line(10, l)
	}
}

// plain writes a scalar bare where YAML takes it so, else in quotes.
func plain(s string) string {
	if strings.ContainsAny(s, "#'\"") || strings.Contains(s, ": ") || strings.HasPrefix(s, "{") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s
}

func (f *file) alert(a Alert) {
	if a.Note != "" {
		f.comment(6, a.Note)
	}
	f.line(6, "- alert: "+a.Name)
	f.expr(a.Expr)
	if a.For > 0 {
		f.line(8, "for: "+f.p.duration(a.For))
	}
	if a.KeepFiring > 0 {
		f.line(8, "keep_firing_for: "+f.p.duration(a.KeepFiring))
	}
	labels := fmt.Sprintf("severity: %s, component: %s", a.Severity, a.Component)
	if a.Label != "" {
		labels += ", " + a.Label + ": " + a.Value
	}
	f.line(8, "labels: {"+labels+"}")
	f.line(8, "annotations:")
	f.line(10, "summary: "+strconv.Quote(a.Summary))
	f.line(10, "description: "+strconv.Quote(a.Description))
	f.line(10, "runbook_url: "+strconv.Quote(RunbookURL(f.o.URL, a.Runbook)))
}

// RunbookURL is the address of a runbook page under the address of Bullpen.
func RunbookURL(base, runbook string) string {
	return strings.TrimRight(base, "/") + "/runbooks/" + runbook
}
