package outside

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/alerts"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pretend plays a Prometheus and an Alertmanager.
type pretend struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]string // by path; what is not there is 503
	asked   []string
}

func newPretend(t *testing.T) *pretend {
	t.Helper()
	p := &pretend{answers: map[string]string{
		"/prom/api/v1/rules": `{"status":"success","data":{"groups":[{"name":"g","rules":[
			{"name":"BullMQQueueSaturated","state":"firing","health":"ok","labels":{"severity":"warning","window":"fast","component":"queue"},"alerts":[
				{"state":"firing","labels":{"alertname":"BullMQQueueSaturated","redis":"default","prefix":"bull","queue":"mail"},"activeAt":"2026-01-01T00:00:00Z","value":"3e+01"},
				{"state":"pending","labels":{"alertname":"BullMQQueueSaturated","redis":"default","prefix":"bull","queue":"hooks"}},
				{"state":"firing","labels":{"alertname":"BullMQQueueSaturated","redis":"other","prefix":"bull","queue":"mail"}}]},
			{"name":"BullMQRedisDown","state":"inactive","health":"err","lastError":"many-to-many matching","labels":{"severity":"critical"},"alerts":[]},
			{"name":"SomebodyElses","state":"firing","labels":{},"alerts":[{"state":"firing","labels":{}}]}]}]}}`,
		"/am/api/v2/alerts": `[
			{"labels":{"alertname":"BullMQQueueSaturated","severity":"warning","component":"queue","window":"fast","reason":"more","redis":"default","queue":"mail"},"status":{"state":"suppressed","silencedBy":["s1"],"inhibitedBy":[]}},
			{"labels":{"alertname":"BullMQRedisDown","severity":"critical","redis":"default"},"status":{"state":"active","silencedBy":[],"inhibitedBy":[]}},
			{"labels":{"alertname":"BullMQRedisDown","severity":"critical","redis":"other"},"status":{"state":"active"}},
			{"labels":{"alertname":"SomebodyElses"},"status":{"state":"active"}}]`,
		"/am/api/v2/silences": `[
			{"id":"s1","status":{"state":"active"},"matchers":[{"name":"alertname","value":"BullMQQueue.*","isRegex":true,"isEqual":true},{"name":"queue","value":"mail","isRegex":false}],"startsAt":"2026-01-01T00:00:00Z","endsAt":"2026-01-02T00:00:00Z","createdBy":"ada","comment":"<b>new</b> workers come"},
			{"id":"s2","status":{"state":"expired"},"matchers":[{"name":"queue","value":"mail"}]},
			{"id":"s3","status":{"state":"active"},"matchers":[{"name":"alertname","value":"DiskFull"}]},
			{"id":"s4","status":{"state":"active"},"matchers":[{"name":"instance","value":"host1"}]},
			{"id":"s5","status":{"state":"pending"},"matchers":[{"name":"job","value":"bullpen"}],"endsAt":"2026-01-01T00:00:00Z"},
			{"id":"s6","status":{"state":"active"},"matchers":[{"name":"redis","value":"default","isEqual":false}]}]`,
	}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *pretend) set(path, answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[path] = answer
}

// ServeHTTP answers a question.
func (p *pretend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	user, password, _ := r.BasicAuth()
	p.asked = append(p.asked, user+":"+password+" "+r.URL.String())
	answer := p.answers[r.URL.Path]
	if answer == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprint(w, answer)
}

// watch watches until the test ends and returns once both were asked.
func (p *pretend) watch(t *testing.T) *Watcher {
	t.Helper()
	host := strings.TrimPrefix(p.URL, "http://")
	w, err := New(Options{
		Prometheus: "http://eve:s3cret@" + host + "/prom/", Alertmanager: p.URL + "/am", Alias: "default", interval: 5 * time.Millisecond,
	})
	require.NoError(t, err)
	w.Start()
	t.Cleanup(w.Stop)
	eventually(t, "both were asked", func() bool { s := w.State(); return s.Prometheus.Asked && s.Alertmanager.Asked })
	return w
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not so: " + what)
		}
	}
}

// rule is the first rule of a name.
func rule(t *testing.T, name string) alerts.Alert {
	t.Helper()
	for _, a := range alerts.Alerts("bullpen") {
		if a.Name == name {
			return a
		}
	}
	t.Fatal("no rule " + name)
	return alerts.Alert{}
}

func TestState(t *testing.T) {
	t.Parallel()
	p := newPretend(t)
	s := p.watch(t).State()
	require.Empty(t, s.Prometheus.Err+s.Alertmanager.Err)
	require.False(t, s.Prometheus.Answered.IsZero())

	saturated, ok := s.Of(rule(t, "BullMQQueueSaturated"))
	require.True(t, ok)
	require.Len(t, saturated.Active, 2, "those of another Redis are somebody else's")
	require.Equal(t, "firing", saturated.Active[0].State)
	down, ok := s.Of(rule(t, "BullMQRedisDown"))
	require.True(t, ok)
	require.Equal(t, "many-to-many matching", down.Err)
	_, ok = s.Of(rule(t, "BullMQQueueWithoutWorkers"))
	require.False(t, ok, "it is not loaded")
	require.Len(t, s.Rules, 2)

	known := s.Known(rule(t, "BullMQQueueSaturated"))
	require.Len(t, known, 1)
	require.Equal(t, "silenced", known[0].State)
	require.Equal(t, []string{"s1"}, known[0].SilencedBy)
	require.Len(t, s.Alerts, 2)

	var ids []string
	for _, x := range s.Silences {
		ids = append(ids, x.ID)
	}
	require.Equal(t, []string{"s5", "s1"}, ids, "by their end; without expired ones and those about other things")
	require.Equal(t, `alertname=~"BullMQQueue.*"`, s.Silence("s1").Matchers[0].String())
	require.Equal(t, `queue="mail"`, s.Silence("s1").Matchers[1].String())
	require.Equal(t, "<b>new</b> workers come", s.Silence("s1").Comment)
	require.Nil(t, s.Silence("s3"))
}

func TestPasswordsAreSentAndNotShown(t *testing.T) {
	t.Parallel()
	p := newPretend(t)
	w := p.watch(t)
	require.NotContains(t, w.State().Prometheus.URL, "s3cret")
	p.mu.Lock()
	require.Equal(t, "eve:s3cret /prom/api/v1/rules?type=alert", p.asked[0])
	require.Contains(t, p.asked[1], "/am/api/v2/alerts?filter=alertname%3D~%22")
	p.mu.Unlock()
	p.Close()
	eventually(t, "it is gone", func() bool { return w.State().Prometheus.Err != "" })
	require.NotContains(t, w.State().Prometheus.Err, "s3cret")
}

// TestFailures keeps what was known, and says why it is old.
func TestFailures(t *testing.T) {
	t.Parallel()
	p := newPretend(t)
	w := p.watch(t)
	for _, tt := range []struct{ path, answer, want string }{
		{"/prom/api/v1/rules", "", "it answers 503 Service Unavailable"},
		{"/prom/api/v1/rules", "<html>", "its answer is not what was expected"},
		{"/prom/api/v1/rules", `{"status":"error","error":"no"}`, "it refuses: no"},
		{"/prom/api/v1/rules", `{"status":"` + strings.Repeat("x", maxBody) + `"}`, "its answer is longer than 16 MB"},
		{"/am/api/v2/silences", "", "it answers 503"},
	} {
		p.set(tt.path, tt.answer)
		eventually(t, tt.want, func() bool {
			s := w.State()
			return strings.Contains(s.Prometheus.Err, tt.want) || strings.Contains(s.Alertmanager.Err, tt.want)
		})
	}
	s := w.State()
	require.Len(t, s.Rules, 2)
	require.Len(t, s.Silences, 2)
	require.Nil(t, s.Silence(""))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Prometheus: "x"}, {Alertmanager: "http://"}} {
		_, err := New(o)
		require.Error(t, err)
	}
	w, err := New(Options{Prometheus: "http://127.0.0.1:9"})
	require.NoError(t, err)
	require.Nil(t, w.State().Alertmanager)
	w.Stop()
}
