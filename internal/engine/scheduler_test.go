package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
)

// noon is when the schedulers of these tests are upserted: on a full hour.
var noon = time.UnixMilli(1_700_006_400_000)

// clockQueue is a queue whose clock shows what the test says.
func clockQueue(t *testing.T, now *atomic.Int64) *Queue {
	t.Helper()
	now.CompareAndSwap(0, noon.UnixMilli())
	q, err := NewQueue(QueueOptions{
		Client: srv.Client(t), Prefix: srv.Prefix(), Name: "q", Defaults: JobOptions{KeepFailed: KeepCount(9)},
		Clock: func() time.Time { return time.UnixMilli(now.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func upsert(t *testing.T, q *Queue, r Repeat, tmpl JobTemplate) *Job {
	t.Helper()
	j, err := q.UpsertScheduler(t.Context(), "s", r, tmpl)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func scheduler(t *testing.T, q *Queue) *Scheduler {
	t.Helper()
	s, err := q.Scheduler(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUpsertSchedulerStores(t *testing.T) {
	t.Parallel()
	limit := int64(7)
	tests := map[string]struct {
		repeat Repeat
		tmpl   JobTemplate
		record map[string]string
		opts   string // of the job, without delay and timestamp
		at     time.Time
	}{
		"interval": {
			repeat: Repeat{Every: time.Minute, Offset: 10 * time.Second, Limit: &limit, EndDate: noon.Add(time.Hour)},
			tmpl:   JobTemplate{Name: "tick", Data: map[string]int{"a": 1}, Options: JobOptions{Attempts: 3, Priority: 2}},
			record: map[string]string{
				"name": "tick", "every": "60000", "offset": "10000", "limit": "7", "endDate": "1700010000000", "ic": "1",
				"data": `{"a":1}`, "opts": `{"attempts":3,"priority":2,"removeOnFail":9}`,
			},
			opts: `{"attempts":3,"priority":2,"removeOnFail":9,"repeat":{"every":60000,"limit":7,"offset":10000,"count":1,` +
				`"endDate":1700010000000},"repeatJobKey":"s","jobId":"repeat:s:1700006410000"}`,
			at: noon.Add(10 * time.Second),
		},
		"pattern": {
			repeat: Repeat{Pattern: "30 9 * * *", TZ: "Europe/Madrid", Extra: map[string]json.RawMessage{"x": []byte(`[1]`)}},
			record: map[string]string{
				"name": "s", "pattern": "30 9 * * *", "tz": "Europe/Madrid", "offset": "0", "ic": "1", "opts": `{"removeOnFail":9}`,
			},
			opts: `{"removeOnFail":9,"repeat":{"pattern":"30 9 * * *","tz":"Europe/Madrid","x":[1],"count":1},"repeatJobKey":"s",` +
				`"prevMillis":1700037000000,"jobId":"repeat:s:1700037000000"}`,
			at: time.UnixMilli(1700037000000),
		},
		"pattern without a zone or a seed": {
			repeat: Repeat{Pattern: "H * * * *", Immediately: true},
			record: map[string]string{
				"name": "s", "pattern": "H * * * *", "tz": "UTC", "offset": "0", "ic": "1", "opts": `{"removeOnFail":9}`,
			},
			opts: `{"removeOnFail":9,"repeat":{"pattern":"H * * * *","tz":"UTC","hashSeed":"q:s","count":1},"repeatJobKey":"s",` +
				`"prevMillis":1700006400000,"jobId":"repeat:s:1700006400000"}`,
			at: noon,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Int64
			q := clockQueue(t, &now)
			j := upsert(t, q, tt.repeat, tt.tmpl)
			stored := read(t, q, j.ID)
			if diff := cmp.Diff(withoutTimes(t, stored.RawOpts), jsonOf(t, tt.opts)); diff != "" {
				t.Errorf("options of the job (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(stored.Fields["opts"], string(j.RawOpts), jsonTexts); diff != "" {
				t.Errorf("the job returned is not the one stored:\n%s", diff)
			}
			if stored.SchedulerID != "s" || stored.Name != j.Name || !stored.Timestamp.Equal(noon) {
				t.Errorf("stored %+v", stored)
			}
			if got := stored.Timestamp.Add(stored.Delay); !got.Equal(tt.at) {
				t.Errorf("fires at %s, want %s", got, tt.at)
			}
			if diff := cmp.Diff(scheduler(t, q).Fields, tt.record); diff != "" {
				t.Errorf("record (-got +want):\n%s", diff)
			}
		})
	}
}

// jsonTexts compares texts as JSON.
var jsonTexts = cmp.FilterValues(
	func(a, b string) bool { return json.Valid([]byte(a)) && json.Valid([]byte(b)) },
	cmp.Comparer(func(a, b string) bool {
		var x, y any
		return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
	}))

func jsonOf(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func withoutTimes(t *testing.T, text json.RawMessage) map[string]any {
	t.Helper()
	v := jsonOf(t, string(text))
	delete(v, "delay")
	delete(v, "timestamp")
	return v
}

func TestUpsertSchedulerRefuses(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	q := clockQueue(t, &now)
	every := Repeat{Every: time.Second}
	tests := []struct {
		id   string
		r    Repeat
		tmpl JobTemplate
		want string
	}{
		{"", every, JobTemplate{}, "a scheduler needs an id"},
		{"s", Repeat{Every: time.Second, Pattern: "* * * * *"}, JobTemplate{}, "Both .pattern and .every options"},
		{"s", Repeat{}, JobTemplate{}, "Either .pattern or .every options"},
		{"s", Repeat{Pattern: "* * * * *", Immediately: true, StartDate: noon}, JobTemplate{}, "Both .immediately and .startDate"},
		{"s", Repeat{Every: time.Second, EndDate: noon.Add(-1)}, JobTemplate{}, "End date must be greater"},
		{"s", Repeat{Every: -time.Second}, JobTemplate{}, "not a positive number of milliseconds"},
		{"s", Repeat{Every: time.Microsecond}, JobTemplate{}, "not a positive number of milliseconds"},
		{"s", Repeat{Every: time.Second, Offset: -1}, JobTemplate{}, "offset: -1ns is negative"},
		{"s", Repeat{Pattern: "61 * * * *"}, JobTemplate{}, "pattern: invalid cron pattern"},
		{"s", Repeat{Pattern: "* * * * *", TZ: "Mars/Base"}, JobTemplate{}, `tz: unknown time zone "Mars/Base"`},
		{"s", Repeat{Every: time.Second, Extra: map[string]json.RawMessage{"x": []byte("{")}}, JobTemplate{}, "x: the value is not JSON"},
		{"s", every, JobTemplate{Options: JobOptions{ID: "x"}}, "jobId: "},
		{"s", every, JobTemplate{Options: JobOptions{Delay: 1}}, "delay: "},
		{"s", every, JobTemplate{Options: JobOptions{Timestamp: noon}}, "timestamp: "},
		{"s", every, JobTemplate{Options: JobOptions{OnFailure: FailParentOnFailure}}, "parent: "},
		{"s", every, JobTemplate{Options: JobOptions{Priority: -1}}, "Priority should be between"},
		{"s", every, JobTemplate{Options: JobOptions{Extra: map[string]json.RawMessage{"repeat": nil}}}, "repeat: belongs to"},
		{"s", every, JobTemplate{Data: func() {}}, "data: cannot be encoded"},
		{"s", every, JobTemplate{Data: "long", Options: JobOptions{SizeLimit: 2}}, "exceeds the limit 2 bytes"},
	}
	for _, tt := range tests {
		_, err := q.UpsertScheduler(t.Context(), tt.id, tt.r, tt.tmpl)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("upsert of %+v = %v, want %q", tt.r, err, tt.want)
		}
	}
	none := int64(0)
	for name, r := range map[string]Repeat{
		"limit 0":            {Every: time.Second, Limit: &none},
		"pattern, end":       {Pattern: "0 0 * * *", EndDate: noon.Add(time.Minute)},
		"interval, end":      {Every: time.Second, StartDate: noon.Add(time.Hour), EndDate: noon.Add(time.Minute)},
		"impossible pattern": {Pattern: "0 0 31 4,6 *"},
	} {
		if j, err := q.UpsertScheduler(t.Context(), "s", r, JobTemplate{}); j != nil || err != nil {
			t.Errorf("%s: upsert = %v, %v", name, j, err)
		}
		if runs, err := q.PreviewScheduler("s", r, 3); len(runs) != 0 || err != nil {
			t.Errorf("%s: preview = %v, %v", name, runs, err)
		}
	}
	if n := q.client.Exists(t.Context(), q.Repeat(), q.Meta(), q.ID()).Val(); n != 0 {
		t.Error("something was written")
	}
}

// fire takes the scheduler's job when it is due and completes it.
func fire(t *testing.T, q *Queue, now *atomic.Int64) *Job {
	t.Helper()
	s := scheduler(t, q)
	now.Store(max(now.Load(), s.Next.UnixMilli()))
	w := newWorker(t, q, func(context.Context, *Job) (any, error) { return nil, nil }, nil)
	j, err := w.RunOnce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestSchedulerGoesOn(t *testing.T) {
	t.Parallel()
	limit := int64(3)
	seconds := func(n ...int64) (at []int64) {
		for _, s := range n {
			at = append(at, noon.UnixMilli()+s*1000)
		}
		return at
	}
	tests := map[string]struct {
		repeat Repeat
		want   []int64
		more   bool // go on after that
	}{
		"interval":               {Repeat{Every: 7 * time.Second}, seconds(0, 7, 14, 21), true},
		"pattern":                {Repeat{Pattern: "*/20 * * * * *"}, seconds(20, 40, 60, 80), true},
		"limit":                  {Repeat{Every: time.Second, Limit: &limit}, seconds(0, 1, 2), false},
		"end of an interval":     {Repeat{Every: 2 * time.Second, EndDate: noon.Add(5 * time.Second)}, seconds(0, 2, 4), false},
		"end on a slot":          {Repeat{Every: 2 * time.Second, EndDate: noon.Add(4 * time.Second)}, seconds(0, 2, 4), false},
		"end of a pattern":       {Repeat{Pattern: "* * * * *", EndDate: noon.Add(2 * time.Minute)}, seconds(60, 120), false},
		"start date":             {Repeat{Every: 10 * time.Second, StartDate: noon.Add(3 * time.Second)}, seconds(3, 13, 23), true},
		"start date of pattern":  {Repeat{Pattern: "* * * * *", StartDate: noon.Add(90 * time.Second)}, seconds(120, 180), true},
		"offset":                 {Repeat{Every: time.Minute, Offset: 10 * time.Second}, seconds(10, 70), true},
		"immediately by pattern": {Repeat{Pattern: "* * * * *", Immediately: true}, seconds(0, 60, 120), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Int64
			q := clockQueue(t, &now)
			preview, err := q.PreviewScheduler("s", tt.repeat, len(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			upsert(t, q, tt.repeat, JobTemplate{Name: "tick", Data: 1, Options: JobOptions{Attempts: 2}})
			var fired []int64
			for i, want := range tt.want {
				s := scheduler(t, q)
				runs, err := s.NextRuns(time.UnixMilli(now.Load()), len(tt.want)-i)
				if err != nil || !cmp.Equal(milliseconds(runs), tt.want[i:]) {
					t.Errorf("before firing %d the next are said to be %v, %v; want %v", i, milliseconds(runs), err, tt.want[i:])
				}
				j := fire(t, q, &now)
				if j == nil || j.Name != "tick" || string(j.Data) != "1" || j.Opts.Attempts != 2 || j.SchedulerID != "s" {
					t.Fatalf("fired %+v at %d", j, want)
				}
				fired = append(fired, scheduledAt(t, j))
			}
			if diff := cmp.Diff(fired, tt.want); diff != "" {
				t.Errorf("fired (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(milliseconds(preview), tt.want); diff != "" {
				t.Errorf("preview (-got +want):\n%s", diff)
			}
			s := scheduler(t, q)
			if s == nil || s.Pending != tt.more || s.Iterations != int64(len(tt.want))+map[bool]int64{true: 1}[tt.more] {
				t.Errorf("left with %+v", s)
			}
			if runs, _ := s.NextRuns(noon, 1); (len(runs) > 0) != tt.more {
				t.Errorf("next runs %v, more is %v", runs, tt.more)
			}
			if tt.more != (q.client.ZCard(t.Context(), q.Delayed()).Val() == 1) {
				t.Error("the wrong number of jobs is left")
			}
		})
	}
}

func milliseconds(list []time.Time) (out []int64) {
	for _, at := range list {
		out = append(out, at.UnixMilli())
	}
	return out
}

// scheduledAt is the time in a job's id.
func scheduledAt(t *testing.T, j *Job) int64 {
	t.Helper()
	_, ms, ok := strings.Cut(j.ID, "repeat:s:")
	if !ok {
		t.Fatalf("job %s is not one of the scheduler", j.ID)
	}
	return fieldInt(ms)
}

func TestSchedulerCatchesUpOnce(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Repeat{
		"interval": {Every: time.Second}, "pattern": {Pattern: "* * * * * *"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Int64
			q := clockQueue(t, &now)
			first := scheduledAt(t, upsert(t, q, r, JobTemplate{}))
			now.Store(noon.Add(time.Hour).UnixMilli() + 300)
			for i, want := range []int64{first, noon.Add(time.Hour).UnixMilli() + 1000, noon.Add(time.Hour).UnixMilli() + 2000} {
				if got := scheduledAt(t, fire(t, q, &now)); got != want {
					t.Errorf("firing %d is that of %d, want %d", i, got, want)
				}
			}
		})
	}
}

func TestUnknownOptionsOfASchedulerTravel(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	q := clockQueue(t, &now)
	upsert(t, q, Repeat{Every: time.Second}, JobTemplate{})
	id := scheduler(t, q).JobID
	stored := `{"attempts":2,"backoff":500,"custom":{"a":[]},"deduplication":{"id":"d"},"kl":5,"removeOnComplete":{"count":1e2},` +
		`"repeat":{"every":1e3,"key":"old","immediately":true,"offset":0,"count":41,"nothing":null},"prevMillis":5,"delay":9,` +
		`"timestamp":1,"jobId":"` + id + `","repeatJobKey":"s","nothing":null}`
	if err := q.client.HSet(t.Context(), q.JobKey(id), "opts", stored).Err(); err != nil {
		t.Fatal(err)
	}
	fire(t, q, &now)
	next := read(t, q, scheduler(t, q).JobID)
	want := `{"attempts":2,"backoff":{"type":"fixed","delay":500},"custom":{"a":[]},"de":{"id":"d"},"kl":5,` +
		`"removeOnComplete":{"count":100},"repeat":{"every":1000,"key":"old","count":42},"repeatJobKey":"s","jobId":"` + next.ID + `"}`
	if diff := cmp.Diff(withoutTimes(t, next.RawOpts), jsonOf(t, want)); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestABrokenScheduleDoesNotHoldItsJob(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]string{
		"pattern":   `{"repeat":{"pattern":"61 * * * *","count":1}}`,
		"zone":      `{"repeat":{"pattern":"* * * * *","tz":"Mars/Base","count":1}}`,
		"no repeat": `{"attempts":1}`,
		"repeat":    `{"repeat":5}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Int64
			q := clockQueue(t, &now)
			id := upsert(t, q, Repeat{Pattern: "* * * * *", Immediately: true}, JobTemplate{}).ID
			if err := q.client.HSet(t.Context(), q.JobKey(id), "opts", opts).Err(); err != nil {
				t.Fatal(err)
			}
			if j := fire(t, q, &now); j == nil || j.ID != id {
				t.Fatalf("took %v", j)
			}
			if got := state(t, q, id); got != keys.Completed {
				t.Errorf("the job is %s", got)
			}
			if s := scheduler(t, q); s.Pending || s.JobID != id {
				t.Errorf("the schedule goes on: %+v", s)
			}
		})
	}
}

func TestPreviewScheduler(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	q := clockQueue(t, &now)
	hashed := Repeat{Pattern: "H H * * *"}
	runs, err := q.PreviewScheduler("s", hashed, 2)
	if err != nil || len(runs) != 2 || runs[1].Sub(runs[0]) != 24*time.Hour {
		t.Fatalf("preview = %v, %v", runs, err)
	}
	if j := upsert(t, q, hashed, JobTemplate{}); scheduledAt(t, j) != runs[0].UnixMilli() {
		t.Errorf("job %s, preview %v", j.ID, runs)
	}
	if _, err := q.PreviewScheduler("s", Repeat{Pattern: "61 * * * *"}, 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("preview of a bad pattern = %v", err)
	}
	if _, err := q.PreviewScheduler("s", Repeat{}, 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("preview of nothing = %v", err)
	}
}

func TestFireScheduler(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	q := clockQueue(t, &now)
	if j, err := q.FireScheduler(t.Context(), "s"); j != nil || err != nil {
		t.Fatal(j, err)
	}
	upsert(t, q, Repeat{Every: time.Hour, Offset: time.Minute}, JobTemplate{
		Name: "n", Data: []int{1}, Options: JobOptions{Priority: 4, Deduplication: &Deduplication{ID: "d"}},
	})
	before := scheduler(t, q)
	j, err := q.FireScheduler(t.Context(), "s")
	if err != nil || j.Name != "n" || string(j.Data) != "[1]" || j.Priority != 4 || j.SchedulerID != "" {
		t.Fatalf("%+v, %v", j, err)
	}
	if diff := cmp.Diff(scheduler(t, q), before); diff != "" {
		t.Errorf("the schedule changed:\n%s", diff)
	}
}

func TestRemoveScheduler(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	q := clockQueue(t, &now)
	if was, err := q.RemoveScheduler(t.Context(), "s"); was || err != nil {
		t.Fatal(was, err)
	}
	j := upsert(t, q, Repeat{Every: time.Hour, Offset: time.Minute}, JobTemplate{})
	if err := q.RemoveJob(t.Context(), j.ID, true); !errors.Is(err, ErrSchedulerOwned) {
		t.Errorf("removing the job alone: %v", err)
	}
	if was, err := q.RemoveScheduler(t.Context(), "s"); !was || err != nil {
		t.Fatal(was, err)
	}
	if _, err := q.Job(t.Context(), j.ID); !errors.Is(err, ErrJobNotFound) || scheduler(t, q) != nil {
		t.Errorf("job or scheduler is left: %v", err)
	}
}

func TestRepeatInWords(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Repeat{
		"every 5 minutes":        {Every: 5 * time.Minute},
		"every weekday at 09:30": {Pattern: "30 9 * * 1-5"},
		"0 0 13 * 5":             {Pattern: "0 0 13 * 5"},
	} {
		if got := r.InWords(); got != want {
			t.Errorf("%+v is %q, want %q", r, got, want)
		}
	}
}
