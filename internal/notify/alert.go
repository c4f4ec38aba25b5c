package notify

import (
	"cmp"
	"encoding/hex"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"bullpen/alerts"
	"bullpen/internal/monitor/alerting"
)

// alert is one that was told to fire, as it is kept.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"starts_at"`
}

// ended reports whether a is the zero value, which stands for an alert that is over.
func (a alert) ended() bool { return a.Labels == nil }

// nameLabel is the label with the name of an alert.
const nameLabel = "alertname"

// redisDown is the rule that says that nothing else can be seen.
const redisDown = "BullMQRedisDown"

// fingerprint is the same for the same labels.
func fingerprint(labels map[string]string) string {
	h := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		h.Write([]byte(name + "\xff" + labels[name] + "\xff"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// view is what the rules say now.
type view struct {
	// firing are those worth a message; held are the fingerprints of all alerts that may fire soon or again.
	firing told
	held   map[string]bool
	// open are the rules whose alerts may not be told to have ended: what they look at is not known yet, or cannot be
	// seen.
	open []alerts.Alert
}

// look reads the state of all rules. base is where runbooks are.
func look(statuses []alerting.Status, base string) view {
	v := view{firing: told{}, held: map[string]bool{}}
	blind := slices.ContainsFunc(statuses, func(s alerting.Status) bool { return s.Rule.Name == redisDown && len(s.Active) > 0 })
	for _, s := range statuses {
		if s.State == alerting.Unknown || !s.UnknownUntil.IsZero() || blind && s.Rule.Name != redisDown {
			v.open = append(v.open, s.Rule)
		}
		for _, active := range s.Active {
			a := newAlert(s.Rule, active, base)
			id := fingerprint(a.Labels)
			v.held[id] = true
			if active.State == alerting.Firing && (s.Rule.Severity == alerts.Critical || s.Rule.Severity == alerts.Warning) {
				v.firing[id] = a
			}
		}
	}
	return v
}

func newAlert(r alerts.Alert, active alerting.Active, base string) alert {
	labels := active.Labels.Map()
	labels[nameLabel] = r.Name
	return alert{
		Labels: labels, StartsAt: active.Since.UTC(),
		Annotations: map[string]string{
			"summary": active.Summary, "description": active.Description, "runbook_url": base + "/runbooks/" + r.Runbook,
		},
	}
}

// isOf reports whether an alert is one of a rule's.
func (a alert) isOf(r alerts.Alert) bool {
	for name, value := range r.Labels() {
		if a.Labels[name] != value {
			return false
		}
	}
	return a.Labels[nameLabel] == r.Name
}

// changes are the alerts that were not told yet, and zero values for those whose end was not.
func (v view) changes(t told) told {
	out := told{}
	for id, a := range v.firing {
		if _, known := t[id]; !known && !v.outranked(a) {
			out[id] = a
		}
	}
	for id, a := range t {
		if !v.held[id] && !slices.ContainsFunc(v.open, a.isOf) {
			out[id] = alert{}
		}
	}
	return out
}

// outranked reports whether an alert is a warning of something that is critical already.
func (v view) outranked(a alert) bool {
	if a.Labels["severity"] != string(alerts.Warning) {
		return false
	}
	for _, other := range v.firing {
		if other.Labels["severity"] == string(alerts.Critical) && other.Labels[nameLabel] == a.Labels[nameLabel] && groupOf(other) == groupOf(a) {
			return true
		}
	}
	return false
}

// group is what one message is about.
type group struct{ redis, prefix, queue string }

func groupOf(a alert) group { return group{a.Labels["redis"], a.Labels["prefix"], a.Labels["queue"]} }

func (g group) labels() map[string]string {
	out := map[string]string{}
	for name, value := range map[string]string{"redis": g.redis, "prefix": g.prefix, "queue": g.queue} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

func compareGroups(a, b group) int {
	return cmp.Or(cmp.Compare(a.redis, b.redis), cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.queue, b.queue))
}
