package monitor

import (
	"encoding/base64"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/presence"

	"github.com/stretchr/testify/require"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestParseWorkerName(t *testing.T) {
	t.Parallel()
	prefixes := []string{"bull", "app:env:bull", "{bull}"}
	tests := []struct {
		connection    string
		prefix, queue string // empty queue: not a worker
		worker        string
	}{
		{"bull:bXkgcXVldWUvw6k=", "bull", "my queue/é", ""},
		{"bull:" + b64("email") + ":w:mailer-1", "bull", "email", "mailer-1"},
		{"bull:" + b64("email") + ":w:a:b", "bull", "email", "a:b"},
		{"app:env:bull:" + b64("email"), "app:env:bull", "email", ""},
		{"{bull}:" + b64("{emails}") + ":w:x", "{bull}", "{emails}", "x"},
		{"bull:" + b64("email") + ":qe", "", "", ""},
		{"other:" + b64("email"), "", "", ""},
		{"bull:not base64", "", "", ""},
		{"bull:email", "", "", ""},
		{"bull:" + b64("a:b"), "", "", ""},
		{"bull:", "", "", ""},
		{"bull", "", "", ""},
		{"", "", "", ""},
	}
	for _, tt := range tests {
		q, worker, ok := parseWorkerName(tt.connection, prefixes)
		require.Equal(t, tt.queue != "", ok, tt.connection)
		require.Equal(t, keys.Queue{Prefix: tt.prefix, Name: tt.queue}, q, tt.connection)
		require.Equal(t, tt.worker, worker, tt.connection)
	}
}

func TestParseClients(t *testing.T) {
	t.Parallel()
	list := "id=3 addr=10.0.0.7:5000 laddr=10.0.0.1:6379 fd=8 name=bull:" + b64("email") + ":w:m1 age=61 idle=4 flags=b db=0 cmd=bzpopmin user=default\n" +
		"id=4 addr=10.0.0.8:5001 fd=9 name=bull:" + b64("email") + " age=5 idle=0 flags=b db=2 cmd=bzpopmin\n" +
		"id=5 addr=10.0.0.9:5002 fd=10 name= age=5 idle=0 flags=N db=0 cmd=client\n" +
		"garbage\n"
	want := Worker{
		Queue: keys.Queue{Prefix: "bull", Name: "email"}, Name: "m1", Addr: "10.0.0.7:5000",
		Connected: 61 * time.Second, Idle: 4 * time.Second,
	}
	require.Equal(t, []Worker{want}, parseClients(list, []string{"bull"}, 0), "workers of other databases are not ours")
	require.Len(t, parseClients(list, []string{"bull"}, -1), 2)
	require.Empty(t, parseClients("", []string{"bull"}, 0))
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	listed := func(n int) []Worker { return make([]Worker, n) }
	own := func(concurrencies ...int) []presence.Worker {
		var list []presence.Worker
		for _, c := range concurrencies {
			list = append(list, presence.Worker{Concurrency: c})
		}
		return list
	}
	tests := []struct {
		name             string
		fleet            fleet
		declared, global int64
		ceiling          int64
		source           string
		known            bool
	}{
		{"nobody", fleet{known: true}, 0, 0, 0, "workers", true},
		{"only ours", fleet{listed(2), true, own(4, 2)}, 0, 0, 6, "workers", true},
		{"ours, connection not seen", fleet{nil, true, own(4)}, 0, 0, 4, "workers", true},
		{"Node, not declared", fleet{listed(3), true, nil}, 0, 0, 0, "", false},
		{"Node, declared", fleet{listed(3), true, nil}, 8, 0, 24, "declared", true},
		{"mixed", fleet{listed(3), true, own(4)}, 8, 0, 20, "declared", true},
		{"mixed, not declared", fleet{listed(3), true, own(4)}, 0, 0, 0, "", false},
		{"bounded", fleet{listed(5), true, own(4, 4, 4, 4, 4)}, 0, 12, 12, "global", true},
		{"bound is loose", fleet{listed(5), true, own(4, 4, 4, 4, 4)}, 0, 24, 20, "workers", true},
		{"ours alone reach the bound", fleet{listed(3), true, own(20)}, 0, 12, 12, "global", true},
		{"bound above what is known", fleet{listed(3), true, own(4)}, 0, 12, 0, "", false},
		{"list refused", fleet{nil, false, own(4)}, 0, 0, 0, "", false},
		{"list refused, ours reach the bound", fleet{nil, false, own(4)}, 0, 3, 3, "global", true},
	}
	for _, tt := range tests {
		n, source, known := tt.fleet.ceiling(tt.declared, tt.global)
		require.Equal(t, tt.ceiling, n, tt.name)
		require.Equal(t, tt.source, source, tt.name)
		require.Equal(t, tt.known, known, tt.name)
	}
}

func TestMergeWorkers(t *testing.T) {
	t.Parallel()
	q := keys.Queue{Prefix: "bull", Name: "email"}
	f := fleet{
		listed:    []Worker{{Queue: q, Name: "b", Addr: "1"}, {Queue: q, Name: "", Addr: "2"}, {Queue: q, Name: "b", Addr: "3"}},
		announced: []presence.Worker{{Name: "a", Concurrency: 2, Host: "h", Process: 7}, {Name: "b", Concurrency: 4, Seen: 1000}},
	}
	got := f.merge(q)
	require.Len(t, got, 4)
	require.Equal(t, Worker{Queue: q, Addr: "2"}, got[0])
	require.Equal(t, Worker{Queue: q, Name: "a", Bullpen: true, Host: "h", PID: 7, Concurrency: 2, AnnouncedLast: time.UnixMilli(0)}, got[1])
	require.Equal(t, Worker{Queue: q, Name: "b", Addr: "1", Bullpen: true, Concurrency: 4, AnnouncedLast: time.UnixMilli(1000)}, got[2])
	require.Equal(t, Worker{Queue: q, Name: "b", Addr: "3"}, got[3])
}
