package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxAlerts bounds the alerts of one message; the rest is counted.
const maxAlerts = 100

// message is what is posted: the fourth version of the Alertmanager's webhook.
type message struct {
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   int               `json:"truncatedAlerts"`
	Status            string            `json:"status"`
	Receiver          string            `json:"receiver"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Alerts            []messageAlert    `json:"alerts"`
}

type messageAlert struct {
	Status       string            `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"` // zero while it fires
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

const (
	firing   = "firing"
	resolved = "resolved"
)

// compose writes the message about a group: what changes, and what goes on firing beside it.
func compose(g group, t, changes told, base string, now time.Time) message {
	m := message{
		Version: "4", Receiver: "bullpen", Status: resolved, GroupLabels: g.labels(), GroupKey: groupKey(g.labels()), ExternalURL: base,
	}
	all := maps.Clone(t)
	maps.Copy(all, changes)
	for id, a := range all {
		if changed, is := changes[id]; is && changed.ended() {
			m.add(resolved, id, t[id], now)
		} else if groupOf(a) == g {
			m.add(firing, id, a, time.Time{})
		}
	}
	slices.SortFunc(m.Alerts, func(a, b messageAlert) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), a.StartsAt.Compare(b.StartsAt), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	if extra := len(m.Alerts) - maxAlerts; extra > 0 {
		m.Alerts, m.TruncatedAlerts = m.Alerts[:maxAlerts], extra
	}
	m.CommonLabels = common(m.Alerts, func(a messageAlert) map[string]string { return a.Labels })
	m.CommonAnnotations = common(m.Alerts, func(a messageAlert) map[string]string { return a.Annotations })
	return m
}

func (m *message) add(status, id string, a alert, ends time.Time) {
	if status == firing {
		m.Status = firing
	}
	m.Alerts = append(m.Alerts, messageAlert{
		Status: status, Labels: a.Labels, Annotations: a.Annotations, StartsAt: a.StartsAt, EndsAt: ends.UTC(),
		GeneratorURL: m.ExternalURL + "/alerts", Fingerprint: id,
	})
}

// groupKey names a group as the Alertmanager does for its first route.
func groupKey(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, fmt.Sprintf("%s=%q", name, labels[name]))
	}
	return "{}:{" + strings.Join(parts, ", ") + "}"
}

// common are the pairs that all alerts have.
func common(all []messageAlert, of func(messageAlert) map[string]string) map[string]string {
	out := map[string]string{}
	for i, a := range all {
		if i == 0 {
			maps.Copy(out, of(a))
		}
		maps.DeleteFunc(out, func(name, value string) bool { return of(a)[name] != value })
	}
	return out
}

// body is the message as it is sent, key what is the same when the same is told again.
func (m message) body() (body []byte, key string, err error) {
	if body, err = json.Marshal(m); err != nil {
		return nil, "", fmt.Errorf("writing a message: %w", err)
	}
	h := sha256.New()
	for _, a := range m.Alerts {
		fmt.Fprintln(h, a.Fingerprint, a.Status, a.StartsAt.UnixMilli())
	}
	return body, hex.EncodeToString(h.Sum(nil)[:16]), nil
}
