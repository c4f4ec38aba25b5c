package metrics

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"bullpen/internal/monitor"
	"bullpen/internal/monitor/alerting"

	dto "github.com/prometheus/client_model/go"
)

// TestAlertsSeeWhatIsExported compares the samples that the monitor's own alert evaluation reads with the exposition:
// the same series, the same values, and none missing.
func TestAlertsSeeWhatIsExported(t *testing.T) {
	t.Parallel()
	cluster := snapshot(queue("mail"))
	cluster.Nodes = []monitor.Redis{cluster.Redis}
	cluster.Nodes[0].Node = "10.0.0.1:6379"
	unknown := snapshot(queue("mail"))
	unknown.WorkersErr, unknown.Parts[2].Err = "NOPERM", fmt.Errorf("NOPERM")
	q := unknown.Queues[0]
	q.WorkersKnown, q.CeilingKnown, q.TotalsKnown = false, false, false
	down := snapshot(queue("mail"))
	down.Err = fmt.Errorf("refused")
	for _, tt := range []struct {
		name string
		o    Options
		s    *monitor.Snapshot
	}{
		{"all known", Options{}, snapshot(queue("mail"), queue("hooks"))},
		{"a Cluster", Options{Cluster: true}, cluster},
		{"little known", Options{}, unknown},
		{"Redis down", Options{}, down},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, f := newTest(tt.o, tt.s)
			read := map[string]bool{}
			for _, name := range alerting.New().Metrics() {
				read[name] = true
			}
			want := map[string]float64{}
			for _, family := range gathered(t, m) {
				if !read[family.GetName()] {
					continue
				}
				for _, metric := range family.GetMetric() {
					labels := map[string]string{}
					for _, l := range metric.GetLabel() {
						labels[l.GetName()] = l.GetValue()
					}
					if code := labels["code"]; code == "" || code == "OOM" { // no rule asks for the others
						want[fmt.Sprint(family.GetName(), labels)] = number(metric)
					}
				}
			}
			got := map[string]float64{}
			for _, s := range monitor.AlertSamples(tt.s, "default", now.Add(2*time.Second), f.Policy) {
				got[fmt.Sprint(s.Name, s.Labels.Map())] = s.Value
			}
			if !maps.Equal(want, got) {
				for k, v := range want {
					if g, ok := got[k]; !ok || g != v {
						t.Errorf("exported %s %v, the alerts see %v", k, v, g)
					}
				}
				for k := range got {
					if _, ok := want[k]; !ok {
						t.Errorf("the alerts see %s, which is not exported", k)
					}
				}
			}
		})
	}
}

func number(m *dto.Metric) float64 { return m.GetCounter().GetValue() + m.GetGauge().GetValue() }
