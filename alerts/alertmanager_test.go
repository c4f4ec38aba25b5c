package alerts

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestAlertmanagerConfig(t *testing.T) {
	t.Parallel()
	run(t, program(t, "amtool", "prometheus-alertmanager"), "check-config", "alertmanager.yml")
}

// TestRoutes asks amtool who is told of each rule.
func TestRoutes(t *testing.T) {
	t.Parallel()
	amtool := program(t, "amtool", "prometheus-alertmanager")
	want := map[Severity]string{Critical: "page", Warning: "chat", Info: "digest", None: "deadman"}
	for _, a := range Alerts("bullpen") {
		args := []string{"config", "routes", "test", "--config.file=alertmanager.yml", "alertname=" + a.Name, "job=bullpen"}
		for name, value := range a.Labels() {
			args = append(args, name+"="+value)
		}
		if got := strings.TrimSpace(run(t, amtool, args...)); got != want[a.Severity] {
			t.Errorf("%s (%s) goes to %s, want %s", a.Name, a.Severity, got, want[a.Severity])
		}
	}
}

// inhibition is an inhibit rule of the Alertmanager.
type inhibition struct {
	Source []string `yaml:"source_matchers"`
	Target []string `yaml:"target_matchers"`
	Equal  []string
}

func inhibitions(t *testing.T) []inhibition {
	t.Helper()
	b, err := Files.ReadFile("alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		InhibitRules []inhibition `yaml:"inhibit_rules"`
	}
	if err := yaml.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c.InhibitRules
}

// labelsOf are all labels an alert of a rule carries; a queue alert is one of queue q.
func labelsOf(a Alert) map[string]string {
	l := a.Labels()
	l["alertname"], l["job"] = a.Name, "bullpen"
	switch a.Component {
	case Queue:
		l["redis"], l["prefix"], l["queue"] = "default", "bull", "q"
	case Redis:
		l["redis"] = "default"
	}
	return l
}

// matches reports whether labels meet all matchers.
func matches(t *testing.T, matchers []string, labels map[string]string) bool {
	t.Helper()
	parts := regexp.MustCompile(`^(\w+)\s*(=~|=)\s*"?([^"]*)"?$`)
	for _, m := range matchers {
		p := parts.FindStringSubmatch(m)
		if p == nil {
			t.Fatalf("matcher %s is not understood", m)
		}
		value := labels[p[1]]
		if p[2] == "=" && value != p[3] || p[2] == "=~" && !regexp.MustCompile("^(?:"+p[3]+")$").MatchString(value) {
			return false
		}
	}
	return true
}

// TestInhibitions checks with the labels alerts really carry that every rule has a source and a target, and that its
// equal labels are on both.
func TestInhibitions(t *testing.T) {
	t.Parallel()
	all := Alerts("bullpen")
	pick := func(matchers []string) []Alert {
		return slices.DeleteFunc(slices.Clone(all), func(a Alert) bool { return !matches(t, matchers, labelsOf(a)) })
	}
	for _, rule := range inhibitions(t) {
		sources, targets := pick(rule.Source), pick(rule.Target)
		if len(sources) == 0 || len(targets) == 0 {
			t.Errorf("%v silences %v: %d sources, %d targets", rule.Source, rule.Target, len(sources), len(targets))
		}
		if slices.Contains(rule.Equal, "alertname") {
			continue // the same rule on both sides has the same labels
		}
		for _, a := range append(sources, targets...) {
			for _, label := range rule.Equal {
				if labelsOf(a)[label] == "" {
					t.Errorf("%v silences %v if %s is equal, but %s has none", rule.Source, rule.Target, label, a.Name)
				}
			}
		}
	}
	// Every name in a list of names is one of ours.
	names := regexp.MustCompile(`\w+\(([^)]*)\)`)
	for _, rule := range inhibitions(t) {
		for _, m := range append(rule.Source, rule.Target...) {
			for _, list := range names.FindAllStringSubmatch(m, -1) {
				start := strings.TrimSuffix(list[0], "("+list[1]+")")
				for name := range strings.SplitSeq(list[1], "|") {
					if !slices.ContainsFunc(all, func(a Alert) bool { return a.Name == start+name }) {
						t.Errorf("%s names %s, which is no alert", m, start+name)
					}
				}
			}
		}
	}
}

// silenced lists the alerts that an alert silences.
func silenced(t *testing.T, source Alert) []string {
	t.Helper()
	var out []string
	for _, target := range Alerts("bullpen") {
		from, to := labelsOf(source), labelsOf(target)
		for _, rule := range inhibitions(t) {
			same := !slices.ContainsFunc(rule.Equal, func(l string) bool { return from[l] != to[l] })
			if same && matches(t, rule.Source, from) && matches(t, rule.Target, to) && !(source.Name == target.Name && source.Severity == target.Severity) {
				out = append(out, target.Name+"/"+string(target.Severity))
				break
			}
		}
	}
	return out
}

func TestCausesSilenceTheirConsequences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source       string
		severity     Severity
		yes, no      []string
		everyQueueIs bool
	}{
		{"BullMQRedisDown", Critical, []string{"BullMQQueueWithoutWorkers/critical", "BullMQWaitTargetMissed/critical"}, []string{"BullpenExporterDegraded/warning"}, true},
		{"BullMQQueueWithoutWorkers", Critical, []string{"BullMQWaitTargetMissed/critical", "BullMQQueueSaturated/warning"}, []string{"BullMQRetriesExhausting/critical"}, false},
		{"BullMQQueueSaturated", Warning, []string{"BullMQWaitTargetMissed/warning"}, []string{"BullMQWaitTargetMissed/critical"}, false},
		{"BullMQRateLimitedTooLong", Warning, []string{"BullMQWaitTargetMissed/warning"}, []string{"BullMQWaitTargetMissed/critical", "BullMQQueueWithoutWorkers/critical"}, false},
		{"BullMQRetriesExhausting", Critical, []string{"BullMQRetriesExhausting/warning", "BullMQAttemptsFailing/warning"}, []string{"BullMQQueueSaturated/warning"}, false},
		{"BullMQRedisMemoryHigh", Critical, []string{"BullMQRedisMemoryHigh/warning"}, []string{"BullMQRedisMemoryFilling/warning"}, false},
	} {
		i := slices.IndexFunc(Alerts("bullpen"), func(a Alert) bool { return a.Name == tt.source && a.Severity == tt.severity })
		got := silenced(t, Alerts("bullpen")[i])
		for _, name := range tt.yes {
			if !slices.Contains(got, name) {
				t.Errorf("%s does not silence %s", tt.source, name)
			}
		}
		for _, name := range tt.no {
			if slices.Contains(got, name) {
				t.Errorf("%s silences %s", tt.source, name)
			}
		}
		if tt.everyQueueIs {
			for _, a := range Alerts("bullpen") {
				if a.Component == Queue && !slices.Contains(got, a.Name+"/"+string(a.Severity)) {
					t.Errorf("%s does not silence %s", tt.source, a.Name)
				}
			}
		}
	}
}
