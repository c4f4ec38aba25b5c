package alerting

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"bullpen/alerts"
	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

const (
	// speed makes ten minutes of a rule five seconds.
	speed = 120
	// routeSpeed does the same for the Alertmanager, whose patience is not what is tested.
	routeSpeed = 600
	// most is the maxmemory of Redis, ballast what takes it over 80 % of that, but not over 92 %.
	most, ballast = 96 << 20, 79 << 20
)

// setup is everything that runs.
type setup struct {
	t        *testing.T
	dir      string
	redis    *redis.Client
	orders   *process // producer and worker
	receiver *receiver
	// prometheus and alertmanager are their addresses.
	prometheus, alertmanager string
	replicas                 []*testbullpen.Process
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{t: t, dir: t.TempDir()}
	server := testredis.Start(t, "--maxmemory", strconv.Itoa(most))
	s.redis = server.Client(t)
	s.orders = startOrders(t, server.Socket)
	s.receiver = newReceiver(t)
	s.alertmanager = s.startAlertmanager()
	s.prometheus = s.startPrometheus()
	s.write("bullpen.yaml", fmt.Sprintf(`
listen: 127.0.0.1:0
redis: {url: "unix://%s"}
tick: 100ms
prometheus_url: http://%s
alertmanager_url: http://%s
queues: {orders: {policy: {attempts: 3, worker_concurrency: 4}}}
`, server.Socket, s.prometheus, s.alertmanager))
	for range 2 {
		s.replicas = append(s.replicas, s.startReplica())
	}
	s.announce()
	return s
}

func (s *setup) path(name string) string { return filepath.Join(s.dir, name) }

func (s *setup) write(name, text string) {
	s.t.Helper()
	// In one step, because Prometheus watches the file with its targets.
	next := s.path("." + name)
	require.NoError(s.t, os.WriteFile(next, []byte(text), 0o600))
	require.NoError(s.t, os.Rename(next, s.path(name)))
}

func startOrders(t *testing.T, socket string) *process {
	t.Helper()
	packages, err := filepath.Abs("../../interop/testdata/node/node_modules")
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(packages, "bullmq"))
	require.NoError(t, err, "install it with: (cd internal/interop/testdata/node && npm ci)")
	p := run(t, []string{"NODE_PATH=" + packages}, "nodejs", "node", "testdata/orders.cjs", socket, "bull", "orders")
	p.await(`(?m)^(working)$`)
	return p
}

// listening is how Prometheus and Alertmanager say where they listen.
const listening = `msg="Listening on" address=(127\.0\.0\.1:\d+)`

// startAlertmanager runs the configuration that is shipped, with shorter times and our receiver.
func (s *setup) startAlertmanager() (address string) {
	s.t.Helper()
	shipped, err := alerts.Files.ReadFile("alertmanager.yml")
	require.NoError(s.t, err)
	config := strings.ReplaceAll(string(shipped), "http://127.0.0.1:9099", s.receiver.URL)
	times := regexp.MustCompile(`(_wait|_interval|_timeout): (\d+[smh])`)
	config = times.ReplaceAllStringFunc(config, func(text string) string {
		m := times.FindStringSubmatch(text)
		d, err := time.ParseDuration(m[2])
		require.NoError(s.t, err)
		return fmt.Sprintf("%s: %dms", m[1], d.Milliseconds()/routeSpeed)
	})
	s.write("alertmanager.yml", config)
	p := run(s.t, nil, "prometheus-alertmanager", "prometheus-alertmanager", "--config.file="+s.path("alertmanager.yml"),
		"--storage.path="+s.path("alertmanager"), "--web.listen-address=127.0.0.1:0", "--cluster.listen-address=")
	return p.await(listening)
}

// startPrometheus runs the rules that are shipped, compressed in time.
func (s *setup) startPrometheus() (address string) {
	s.t.Helper()
	o := alerts.Options{Speed: speed}
	var recording, alerting bytes.Buffer
	require.NoError(s.t, alerts.WriteRecording(&recording, o))
	require.NoError(s.t, alerts.WriteAlerts(&alerting, o))
	s.write("recording.yml", recording.String())
	s.write("alerting.yml", alerting.String())
	s.write("prometheus.yml", fmt.Sprintf(`
global: {scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms}
rule_files: [recording.yml, alerting.yml]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: bullpen, file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]}]
`, s.alertmanager))
	p := run(s.t, nil, "prometheus", "prometheus", "--config.file="+s.path("prometheus.yml"),
		"--storage.tsdb.path="+s.path("prometheus"), "--web.listen-address=127.0.0.1:0", "--rules.alert.resend-delay=1s")
	return p.await(listening)
}

// startReplica starts a Bullpen and waits until it is ready.
func (s *setup) startReplica() *testbullpen.Process {
	s.t.Helper()
	r := testbullpen.Start(s.t, testbullpen.Options{Path: binary, Args: []string{"-config", s.path("bullpen.yaml")}})
	eventually(s.t, "the replica is ready", r.Ready)
	return r
}

// announce tells Prometheus which replicas there are.
func (s *setup) announce() {
	s.t.Helper()
	var targets []string
	for _, r := range s.replicas {
		targets = append(targets, strings.TrimSuffix(strings.TrimPrefix(r.URL, "http://"), "/"))
	}
	b, err := json.Marshal([]any{map[string]any{"targets": targets}})
	require.NoError(s.t, err)
	s.write("targets.json", string(b))
}

// sample returns the value of one series of a replica; false if it is not there.
func sample(t *testing.T, r *testbullpen.Process, series string) (float64, bool) {
	t.Helper()
	_, text := r.Get("metrics")
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			require.NoError(t, err)
			return v, true
		}
	}
	return 0, false
}
