package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
)

func TestNewQueue(t *testing.T) {
	t.Parallel()
	c := srv.Client(t)
	tests := []struct {
		o    QueueOptions
		want string
	}{
		{QueueOptions{Name: "q"}, "queue: the client is missing"},
		{QueueOptions{Client: c}, "name: Queue name must be provided"},
		{QueueOptions{Client: c, Name: "a:b"}, "name: Queue name cannot contain :"},
	}
	for _, tt := range tests {
		if _, err := NewQueue(tt.o); err == nil || err.Error() != tt.want {
			t.Errorf("NewQueue = %v, want %s", err, tt.want)
		}
	}
	q, err := NewQueue(QueueOptions{Client: c, Name: "q"})
	if err != nil || q.Wait() != "bull:q:wait" {
		t.Errorf("NewQueue = %+v, %v", q, err)
	}
}

// TestVersion notes the release of the data model with the first job, where nobody has.
func TestVersion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, want string
		skip         bool
	}{
		"new queue":        {want: "bullmq:6.7.0"},
		"of another":       {before: "bullmq:5.81.5", want: "bullmq:5.81.5"},
		"told to leave it": {skip: true},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := NewQueue(QueueOptions{Client: srv.Client(t), Prefix: srv.Prefix(), Name: "q", SkipMetas: tt.skip})
			if err != nil {
				t.Fatal(err)
			}
			version := func() string { return q.client.HGet(t.Context(), q.Meta(), "version").Val() }
			if tt.before != "" {
				q.client.HSet(t.Context(), q.Meta(), "version", tt.before)
			}
			counts(t, q)
			if got := version(); got != tt.before {
				t.Errorf("after looking: %q", got)
			}
			add(t, q, "job", nil, JobOptions{})
			if got := version(); got != tt.want {
				t.Errorf("version = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAddStoresTheHash(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_700_000_000_123)
	q, err := NewQueue(QueueOptions{
		Client: srv.Client(t), Prefix: srv.Prefix(), Name: "q", Clock: func() time.Time { return now },
		Defaults: JobOptions{Attempts: 3, Backoff: &Backoff{Type: "fixed", Delay: time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		data  any
		o     JobOptions
		state keys.State
		want  map[string]string
	}{
		{"plain", map[string]int{"a": 1}, JobOptions{}, keys.Waiting, map[string]string{
			"name": "plain", "data": `{"a":1}`, "opts": `{"attempts":3,"backoff":{"type":"fixed","delay":1000}}`,
			"timestamp": "1700000000123", "delay": "0", "priority": "0",
		}},
		{"late", json.RawMessage(`[1.10]`), JobOptions{ID: "late-1", Delay: 1500*time.Millisecond + 7, Given: GivenAttempts}, keys.Delayed, map[string]string{
			"name": "late", "data": `[1.10]`, "opts": `{"attempts":0,"jobId":"late-1","backoff":{"type":"fixed","delay":1000},"delay":1500}`,
			"timestamp": "1700000000123", "delay": "1500", "priority": "0",
		}},
		{"first", nil, JobOptions{Priority: 2, Timestamp: time.UnixMilli(5)}, keys.Prioritized, map[string]string{
			"name": "first", "data": `{}`, "opts": `{"attempts":3,"backoff":{"type":"fixed","delay":1000},"priority":2,"timestamp":5}`,
			"timestamp": "5", "delay": "0", "priority": "2",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := add(t, q, tt.name, tt.data, tt.o)
			stored, err := q.client.HGetAll(t.Context(), q.JobKey(j.ID)).Result()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, stored); diff != "" {
				t.Errorf("hash (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(stored, j.Fields); diff != "" {
				t.Errorf("returned job (-stored +returned):\n%s", diff)
			}
			if s := state(t, q, j.ID); s != tt.state {
				t.Errorf("state = %s, want %s", s, tt.state)
			}
			if tt.state == keys.Delayed {
				if due, err := q.Due(t.Context(), j.ID); err != nil || !due.Equal(now.Add(1500*time.Millisecond)) {
					t.Errorf("due = %s, %v", due, err)
				}
			}
		})
	}
}

func TestAddRefusesBeforeWriting(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	bad := JobSpec{Name: "bad", Data: json.RawMessage("{")}
	if _, err := q.Add(ctx, bad.Name, bad.Data, bad.Options); !errors.Is(err, ErrInvalid) {
		t.Errorf("add = %v", err)
	}
	if _, err := q.AddBulk(ctx, []JobSpec{{Name: "good"}, bad}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "job 1") {
		t.Errorf("add bulk = %v", err)
	}
	var field *FieldError
	if _, err := q.Add(ctx, "x", nil, JobOptions{ID: "events"}); !errors.As(err, &field) || field.Field != "jobId" {
		t.Errorf("reserved id = %v", err)
	}
	if n, err := q.client.Keys(ctx, q.Base()+"*").Result(); err != nil || len(n) != 0 {
		t.Errorf("refused adds left keys %v, %v", n, err)
	}
}

func TestAddExistingID(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	first := add(t, q, "a", 1, JobOptions{ID: "same"})
	second := add(t, q, "b", 2, JobOptions{ID: "same"})
	if first.Existing || !second.Existing || second.ID != "same" || second.Data != nil {
		t.Errorf("first %+v, second %+v", first, second)
	}
	if got := read(t, q, "same"); got.Name != "a" || string(got.Data) != "1" {
		t.Errorf("the existing job was changed: %+v", got)
	}
}

func TestAddBulkTellsRefusedParents(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	jobs, err := q.AddBulk(t.Context(), []JobSpec{
		{Name: "orphan", Options: JobOptions{Parent: &ParentRef{ID: "nobody", Queue: q.Qualified()}}},
		{Name: "fine"},
	})
	var code *CodeError
	if !errors.As(err, &code) || !errors.Is(err, ErrParentNotFound) || code.Code != -5 {
		t.Errorf("error = %v", err)
	}
	if want := fmt.Sprintf("Missing key for parent job %s:nobody. addJob", q.Qualified()); code.Message != want {
		t.Errorf("message = %q, want %q", code.Message, want)
	}
	if len(jobs) != 2 || jobs[0] != nil || jobs[1] == nil || jobs[1].Name != "fine" {
		t.Errorf("jobs = %+v", jobs)
	}
}

func TestRowsAndIDs(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	ids := addMany(t, q, 4, JobOptions{Attempts: 2})
	next := add(t, q, "next", "x", JobOptions{LIFO: true})
	q.client.RPush(ctx, q.Paused(), "5x") // as BullMQ 5 leaves it: runs before all others
	rows, total, err := q.Rows(ctx, keys.Waiting, 0, 2, true)
	if err != nil || total != 6 {
		t.Fatalf("rows = %d of %d, %v", len(rows), total, err)
	}
	listed := func(rows []Row) (out []string) {
		for _, r := range rows {
			out = append(out, r.ID)
		}
		return out
	}
	if diff := cmp.Diff([]string{"5x", next.ID, ids[0]}, listed(rows)); diff != "" {
		t.Errorf("next to run (-want +got):\n%s", diff)
	}
	if !rows[0].Missing || rows[1].Name != "next" || rows[1].DataSize != 3 || rows[1].Attempts != 1 || rows[2].Attempts != 2 {
		t.Errorf("rows = %+v", rows)
	}
	for _, tt := range []struct {
		offset, limit int64
		want          []string
	}{
		{0, 2, []string{"5x", next.ID}},
		{1, 2, []string{next.ID, ids[0]}},
		{4, 10, []string{ids[2], ids[3]}},
		{6, 10, nil},
		{0, 0, nil},
	} {
		got, err := q.IDs(ctx, keys.Waiting, tt.offset, tt.limit, time.Time{})
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("IDs(%d, %d) = %v, %v, want %v", tt.offset, tt.limit, got, err, tt.want)
		}
	}
	if _, err := q.IDs(ctx, keys.Unknown, 0, 1, time.Time{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("ids of no state = %v", err)
	}
	jobs, total, err := q.JobsIn(ctx, keys.Waiting, 0, 2, true)
	if err != nil || total != 6 || len(jobs) != 2 || jobs[0].ID != next.ID || string(jobs[0].Data) != `"x"` {
		t.Errorf("jobs = %v of %d, %v", jobs, total, err)
	}
	byID, err := q.RowsByID(ctx, []string{ids[3], "nowhere"})
	if err != nil || len(byID) != 2 || byID[0].ID != ids[3] || byID[0].Missing || !byID[1].Missing {
		t.Errorf("rows by id = %+v, %v", byID, err)
	}
}

func TestDelayedRowsAndChanges(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	j := add(t, q, "x", nil, JobOptions{Delay: time.Hour})
	if err := q.ChangeDelay(ctx, j.ID, 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	rows, _, err := q.Rows(ctx, keys.Delayed, 0, -1, true)
	if err != nil || len(rows) != 1 {
		t.Fatalf("rows = %v, %v", rows, err)
	}
	if in := time.Until(rows[0].Due); in < 119*time.Minute || in > 2*time.Hour {
		t.Errorf("due in %s, want 2 h", in)
	}
	if err := q.ChangePriority(ctx, j.ID, 5, false); err != nil {
		t.Fatal(err)
	}
	if err := q.PromoteJob(ctx, j.ID); err != nil {
		t.Fatal(err)
	}
	if s := state(t, q, j.ID); s != keys.Prioritized {
		t.Errorf("a promoted job with a priority is %s", s)
	}
	if n, err := q.CountPriority(ctx, 5); err != nil || n != 1 {
		t.Errorf("count of priority 5 = %d, %v", n, err)
	}
	if n, err := q.CountPriority(ctx, 0); err != nil || n != 0 {
		t.Errorf("count of priority 0 = %d, %v", n, err)
	}
	if err := q.ChangeDelay(ctx, j.ID, 0); !errors.Is(err, ErrWrongState) {
		t.Errorf("change the delay of a job that is not delayed = %v", err)
	}
	if err := q.ChangePriority(ctx, j.ID, -1, false); !errors.Is(err, ErrInvalid) {
		t.Errorf("negative priority = %v", err)
	}
	if err := q.ChangePriority(ctx, "nowhere", 1, false); !errors.Is(err, ErrJobNotFound) {
		t.Errorf("priority of no job = %v", err)
	}
}

func TestUpdatesAndLogs(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	j := add(t, q, "x", 1, JobOptions{KeepLogs: 3})
	if err := errors.Join(j.UpdateData(ctx, json.RawMessage(`{"b":2}`)), j.UpdateProgress(ctx, 50)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, q, j.ID); string(got.Data) != `{"b":2}` || string(got.Progress) != "50" {
		t.Errorf("data %s, progress %s", got.Data, got.Progress)
	}
	for i := range 5 {
		kept, err := j.Log(ctx, fmt.Sprint("row ", i))
		if err != nil || kept != int64(min(i+1, 3)) {
			t.Errorf("log %d: kept %d, %v", i, kept, err)
		}
	}
	rows, total, err := q.Logs(ctx, j.ID, 0, 1, true)
	if err != nil || total != 3 || !slices.Equal(rows, []string{"row 2", "row 3"}) {
		t.Errorf("oldest logs = %v of %d, %v", rows, total, err)
	}
	rows, _, err = q.Logs(ctx, j.ID, 0, 1, false)
	if err != nil || !slices.Equal(rows, []string{"row 4", "row 3"}) {
		t.Errorf("newest logs = %v, %v", rows, err)
	}
	if err := q.ClearLogs(ctx, j.ID, 1); err != nil {
		t.Fatal(err)
	}
	if rows, _, _ := q.Logs(ctx, j.ID, 0, -1, true); !slices.Equal(rows, []string{"row 4"}) {
		t.Errorf("logs after clearing = %v", rows)
	}
	if err := j.UpdateProgress(ctx, func() {}); !errors.Is(err, ErrInvalid) {
		t.Errorf("progress that is no JSON = %v", err)
	}
	gone := &Job{ID: "nowhere", queue: q}
	_, logged := gone.Log(ctx, "x")
	for what, err := range map[string]error{
		"updateData": gone.UpdateData(ctx, 1), "updateProgress": gone.UpdateProgress(ctx, 1), "addLog": logged,
	} {
		if want := "Missing key for job nowhere. " + what; err == nil || err.Error() != want || !errors.Is(err, ErrJobNotFound) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	err := errors.Join(q.SetGlobalConcurrency(ctx, 4), q.SetGlobalRateLimit(ctx, 10, time.Second), q.SetMaxEvents(ctx, 50), q.Pause(ctx))
	if err != nil {
		t.Fatal(err)
	}
	got, err := q.Settings(ctx)
	want := Settings{Paused: true, Concurrency: 4, Limiter: Limiter{Max: 10, Duration: time.Second}, MaxEvents: 50}
	if err != nil || got != want {
		t.Errorf("settings = %+v, %v, want %+v", got, err, want)
	}
	if err := errors.Join(q.SetGlobalConcurrency(ctx, 0), q.SetGlobalRateLimit(ctx, 0, 0), q.Resume(ctx)); err != nil {
		t.Fatal(err)
	}
	if got, err := q.Settings(ctx); err != nil || got != (Settings{MaxEvents: 50}) {
		t.Errorf("settings = %+v, %v", got, err)
	}
	if err := q.SetGlobalRateLimit(ctx, 5, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("limit without window = %v", err)
	}
	if err := q.RateLimit(ctx, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("limit of nothing = %v", err)
	}
	for range 100 {
		add(t, q, "x", nil, JobOptions{})
	}
	if err := q.TrimEvents(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if n, _ := q.client.XLen(ctx, q.Events()).Result(); n >= 200 {
		t.Errorf("%d events after trimming", n)
	}
}

func TestJobNotFound(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	if _, err := q.Job(t.Context(), "nowhere"); !errors.Is(err, ErrJobNotFound) {
		t.Errorf("Job = %v", err)
	}
	if s := state(t, q, "nowhere"); s != keys.Unknown {
		t.Errorf("state = %s", s)
	}
}
