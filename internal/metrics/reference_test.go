package metrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const referencePath = "../../docs/metrics.md"

// TestReference keeps docs/metrics.md to what is exported.
func TestReference(t *testing.T) {
	m, _ := newTest(Options{JobNames: []string{"mail"}, BullMQNames: true}, snapshot(queue("mail")))
	m.Worker(queue("mail").Queue)
	m.Jobs().(observer).NamedJob(queue("mail").Queue, "welcome", "completed")
	m.Request("/", "GET", 200, 1)
	want := reference(gathered(t, m))
	if *update {
		if err := os.WriteFile(referencePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referencePath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/metrics.md is stale; run: go test ./internal/metrics -run TestReference -update")
	}
}

// reference is the page, made of help texts.
func reference(families []*dto.MetricFamily) string {
	var b strings.Builder
	b.WriteString(`# Metrics

What ` + "`/metrics`" + ` exports. Facts about queues, jobs and Redis are named ` + "`bullmq_`" + `, facts about this process
` + "`bullpen_`" + `; the usual ` + "`go_` and `process_`" + ` metrics come along. A figure that is not known is absent, never 0.

*Global* figures are read from Redis and equal on every replica: aggregate with ` + "`max`" + `, and for counters take the rate
first. *Local* ones are seen by one process: aggregate with ` + "`sum`" + `, or where a sum has no meaning with ` + "`max`" + `. Each help
text says which it is.

On a Cluster the figures about Redis have the label ` + "`node`" + ` and there are as many as masters. ` + "`bullmq_redis_up`" + ` alone is of
the whole: a master that does not answer fails the collection, and until all answer again it is 0 and what is read from
Redis is absent.

A queue has about 50 series, and 69 more with histograms; a Redis about 30; a process about 80, and at most 14 for each
route that was asked for. At most 500 queues are exported, and with more than 200 only the declared ones have histograms.

Jobs are counted from their event stream by one replica per queue, whoever runs them, and the totals are kept in Redis:
they survive restarts, removal of jobs and the death of a replica. What happened before a queue was first seen is not
counted. Histograms are classic and native at once; in OpenMetrics a bucket names a job whose id BullMQ made up.

## Cost

A scrape asks Redis nothing: it writes the figures of the last collection, of which there is one per ` + "`tick`" + ` however many
scrape. Scrapes of one format at the same time share an answer, and more than four at once are refused with 503.

Time of one scrape of 500 queues, compressed, on a machine with two cores of an AMD EPYC, at a load of 5
(` + "`go test -bench Scrape ./internal/metrics`" + `):

| format | without histograms (25,000 series) | all declared, with histograms (60,000 series) |
|---|---|---|
| text | 17 ms | 28 ms |
| OpenMetrics | 17 ms | 32 ms |
| protobuf | 42 ms | 44 ms |

Following events costs one XREAD for all queues of a replica and one script per queue and batch, never a command per job
but for an attempt that failed.

`)
	for _, s := range []struct{ title, prefix string }{
		{"Queues", "bullmq_queue_"},
		{"Jobs", "bullmq_job"},
		{"Redis", "bullmq_redis_"},
		{"Workers of this process", "bullpen_worker_"},
		{"Bullpen", "bullpen_"},
	} {
		b.WriteString("## " + s.title + "\n\n| name | type | labels | meaning |\n|---|---|---|---|\n")
		families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
			if !strings.HasPrefix(f.GetName(), s.prefix) {
				return false
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), ownLabels(f), f.GetHelp())
			return true
		})
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// ownLabels are the labels of a family but for those that name a queue or a Redis.
func ownLabels(f *dto.MetricFamily) string {
	var out []string
	for _, l := range f.GetMetric()[0].GetLabel() {
		if !slices.Contains([]string{"redis", "prefix", "queue"}, l.GetName()) {
			out = append(out, "`"+l.GetName()+"`")
		}
	}
	return strings.Join(out, ", ")
}
