package alerting

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/internal/testbullpen"

	"github.com/stretchr/testify/require"
)

// The four situations the alerts are made for.
const (
	saturated = "BullMQQueueSaturated warning"
	failing   = "BullMQRetriesExhausting critical"
	delayed   = "BullMQDelayedClimbing warning"
	memory    = "BullMQRedisMemoryHigh warning"
)

// TestAlertsArriveAndResolve brings about the four situations on one queue and takes their causes away again. Each alert
// reaches the pager and is resolved there. On the way one replica is killed and the other is restarted; the totals are
// those of the jobs that ran.
func TestAlertsArriveAndResolve(t *testing.T) {
	s := newSetup(t)
	// Jobs that ran before anybody looked are not counted.
	eventually(t, "a replica counts the jobs", func() bool { return s.reader() >= 0 })
	s.orders.tell("busy")
	s.orders.tell("broken on")
	require.NoError(t, s.redis.SetRange(t.Context(), "ballast", ballast-1, "x").Err())
	s.arrives(failing, "firing")
	s.orders.tell("broken off")
	s.arrives(failing, "resolved")
	s.arrives(memory, "firing")
	s.arrives(saturated, "firing")
	s.arrives(delayed, "firing")

	s.silence("BullMQAttemptsFailing")
	s.othersAreShown(s.replaceReader())
	require.NoError(t, s.redis.Del(t.Context(), "ballast").Err())
	s.orders.tell("calm")
	s.promote()
	s.arrives(memory, "resolved")
	s.arrives(saturated, "resolved")
	s.arrives(delayed, "resolved")

	s.totalsAreTrue()
	s.restart(0)
	s.totalsAreTrue()
}

func (s *setup) arrives(alert, status string) {
	s.t.Helper()
	eventually(s.t, alert+" arrives as "+status, func() bool { return s.receiver.of(alert) == status })
}

// reader is the place of the replica that counts the queue's jobs, -1 while none does.
func (s *setup) reader() int {
	return slices.IndexFunc(s.replicas, func(r *testbullpen.Process) bool {
		reads, _ := sample(s.t, r, `bullpen_event_reader{prefix="bull",queue="orders",redis="default"}`)
		return reads == 1
	})
}

// replaceReader kills the replica that counts the queue's jobs and starts another one.
func (s *setup) replaceReader() *testbullpen.Process {
	s.t.Helper()
	i := s.reader()
	require.GreaterOrEqual(s.t, i, 0, "no replica counts the jobs")
	s.replicas[i].Kill()
	s.replicas[i] = s.startReplica()
	s.announce()
	return s.replicas[i]
}

// silence makes the Alertmanager keep an alert to itself.
func (s *setup) silence(name string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"matchers":[{"name":"alertname","value":%q,"isRegex":false,"isEqual":true},{"name":"queue","value":"orders","isRegex":false}],
		"startsAt":%q,"endsAt":%q,"createdBy":"ada","comment":"known"}`, name, time.Now().Format(time.RFC3339), time.Now().Add(time.Hour).Format(time.RFC3339))
	r, err := http.Post("http://"+s.alertmanager+"/api/v2/silences", "application/json", strings.NewReader(body))
	require.NoError(s.t, err)
	require.NoError(s.t, r.Body.Close())
	require.Equal(s.t, http.StatusOK, r.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}

// othersAreShown looks on the alerts page of a replica for what Prometheus and the Alertmanager say. A replica asks when it
// starts.
func (s *setup) othersAreShown(r *testbullpen.Process) {
	s.t.Helper()
	var page string
	eventually(s.t, "the alerts page shows what others say", func() bool {
		_, page = r.Get("alerts")
		return strings.Contains(page, "Evaluates all") && strings.Contains(page, "Knows ")
	})
	for _, want := range []string{"1 silenced until", "1 active", "http://" + s.alertmanager + "/#/silences/", ">known<"} {
		require.Contains(s.t, page, want)
	}
}

// restart stops a replica as a deployment does and starts another one.
func (s *setup) restart(i int) {
	s.t.Helper()
	require.Zero(s.t, s.replicas[i].Terminate())
	s.replicas[i] = s.startReplica()
	s.announce()
}

// promote makes the delayed jobs ready, as an operator does when the service they call is back.
func (s *setup) promote() {
	s.t.Helper()
	status, answer := s.replicas[0].Post("api/v1/queues/orders/promote", `{"all":"1","confirm":"yes"}`)
	require.Less(s.t, status, 300, answer)
}

// totalsAreTrue waits until every replica exports what the processor counted.
func (s *setup) totalsAreTrue() {
	s.t.Helper()
	s.orders.tell("count")
	var ran struct{ Added, Started, Completed, Failed, Retried float64 }
	require.NoError(s.t, json.Unmarshal([]byte(s.orders.await(`(?m)^ran (.*)$`)), &ran))
	require.Equal(s.t, ran.Added, ran.Completed+ran.Failed, "every job has ended")
	s.t.Logf("ran %+v", ran)
	for name, want := range map[string]float64{
		`bullmq_jobs_added_total{prefix="bull",queue="orders",redis="default"}`:                         ran.Added,
		`bullmq_jobs_started_total{prefix="bull",queue="orders",redis="default"}`:                       ran.Started,
		`bullmq_jobs_completed_total{prefix="bull",queue="orders",redis="default"}`:                     ran.Completed,
		`bullmq_jobs_retried_total{mode="backoff",prefix="bull",queue="orders",redis="default"}`:        ran.Retried,
		`bullmq_jobs_failed_total{prefix="bull",queue="orders",reason="unrecoverable",redis="default"}`: ran.Failed,
	} {
		for _, r := range s.replicas {
			eventually(s.t, fmt.Sprintf("%s is %v", name, want), func() bool { got, ok := sample(s.t, r, name); return ok && got == want })
		}
	}
}
