package engine

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bullpen/internal/engine/scripts"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeJob(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli
	fields := map[string]string{
		"name": "mail", "data": `{"a":1.10}`, "opts": `{"attempts":5,"kl":3}`, "timestamp": "1700000000000.7", "delay": "1.5e+3",
		"priority": "7", "processedOn": "1700000001000", "finishedOn": "1700000002000", "atm": "2", "ats": "3", "stc": "1",
		"progress": `{"p":1}`, "returnvalue": "null", "failedReason": "it\nbroke", "stacktrace": `["one","two"]`, "pb": "w1",
		"parentKey": "bull:p:1", "parent": `{"id":"1"}`, "rjk": "every", "deid": "d", "defa": "child failed", "tm": "unknown",
	}
	got := decodeJob(nil, "9", fields)
	want := &Job{
		ID: "9", Name: "mail", Data: json.RawMessage(`{"a":1.10}`), Opts: JobOptions{Attempts: 5, KeepLogs: 3},
		RawOpts: json.RawMessage(`{"attempts":5,"kl":3}`), Timestamp: at(1700000000000), Delay: 1500 * time.Millisecond, Priority: 7,
		ProcessedOn: at(1700000001000), FinishedOn: at(1700000002000), AttemptsMade: 2, AttemptsStarted: 3, StalledCount: 1,
		Progress: json.RawMessage(`{"p":1}`), ReturnValue: json.RawMessage("null"), FailedReason: "it\nbroke",
		Stacktrace: []string{"one", "two"}, ProcessedBy: "w1", ParentKey: "bull:p:1", Parent: json.RawMessage(`{"id":"1"}`),
		SchedulerID: "every", DeduplicationID: "d", DeferredFailure: "child failed", Fields: fields,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Job{})); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
}

func TestDecodeJobTakesGarbage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fields map[string]string
		check  func(*Job) bool
	}{
		{"no number", map[string]string{"timestamp": "tomorrow", "atm": "-", "priority": ""}, func(j *Job) bool {
			return j.Timestamp.IsZero() && j.AttemptsMade == 0 && j.Priority == 0
		}},
		{"digits first", map[string]string{"atm": "3 times", "ats": "-2x"}, func(j *Job) bool { return j.AttemptsMade == 3 && j.AttemptsStarted == -2 }},
		{"huge", map[string]string{"timestamp": "1e300", "priority": "-1e300", "delay": "1e300"}, func(j *Job) bool {
			return j.Priority == -1<<53 && j.Delay == math.MaxInt64 && j.Timestamp.UnixMilli() == 1<<53
		}},
		{"not finite", map[string]string{"delay": "NaN", "atm": "Infinity", "ats": "0x10"}, func(j *Job) bool { return j.Delay == 0 && j.AttemptsMade == 0 && j.AttemptsStarted == 0 }},
		{"stall counter of old versions", map[string]string{"stalledCounter": "2"}, func(j *Job) bool { return j.StalledCount == 2 }},
		{"traces of Lua", map[string]string{"stacktrace": "{}"}, func(j *Job) bool { return len(j.Stacktrace) == 0 }},
		{"no data", map[string]string{"data": ""}, func(j *Job) bool { return string(j.Data) == "{}" && j.Fault() == nil }},
		{"bad data", map[string]string{"data": "x"}, func(j *Job) bool { return j.Fault() != nil }},
		{"bad options", map[string]string{"opts": "x"}, func(j *Job) bool { return j.Fault() != nil && j.AttemptsAllowed() == 1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.fields["name"] = "x"
			if j := decodeJob(nil, "1", tt.fields); !tt.check(j) {
				t.Errorf("decoded as %+v", j)
			}
		})
	}
}

func TestCodeErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code scripts.Code
		is   error
		want string
	}{
		{scripts.JobMissing, ErrJobNotFound, "Missing key for job 7. cmd"},
		{scripts.LockMissing, ErrLockMissing, "Missing lock for job 7. cmd"},
		{scripts.WrongState, ErrWrongState, "Job 7 is not in the active state. cmd"},
		{scripts.PendingChildren, ErrPendingChildren, "Job 7 has pending dependencies. cmd"},
		{scripts.ParentMissing, ErrParentNotFound, "Missing key for parent job p. cmd"},
		{scripts.LockMismatch, ErrLockMismatch, "Lock mismatch for job 7. Cmd cmd from active"},
		{scripts.ParentReplaced, ErrParentReplaced, "The parent job p cannot be replaced. cmd"},
		{scripts.SchedulerOwned, ErrSchedulerOwned, "Job 7 belongs to a job scheduler and cannot be removed directly. cmd"},
		{scripts.FailedChildren, ErrFailedChildren, "Cannot complete job 7 because it has at least one failed child. cmd"},
		{scripts.Locked, ErrLocked, "Job 7 could not be removed because it is locked by another worker"},
		{-99, nil, "Unknown code -99 error for 7. cmd"},
	}
	for _, tt := range tests {
		err := codeError(tt.code, "7", "cmd", "active", "p")
		var code *CodeError
		if err.Error() != tt.want || !errors.As(err, &code) || code.Code != int(tt.code) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("code %d: %v, want %s", tt.code, err, tt.want)
		}
	}
	for _, code := range []scripts.Code{scripts.OK, scripts.NotMoved} {
		if err := codeError(code, "7", "cmd", "", ""); err != nil {
			t.Errorf("code %d is the error %v", code, err)
		}
	}
}

func TestConnectionName(t *testing.T) {
	t.Parallel()
	tests := []struct{ queue, worker, want string }{
		{"q", "", "bull:cQ=="},
		{"my queue/é", "", "bull:bXkgcXVldWUvw6k="},
		{"q", "host-1", "bull:cQ==:w:host-1"},
		{"q", "my host\né", "bull:cQ==:w:my_host__"},
	}
	for _, tt := range tests {
		if got := ConnectionName("bull", tt.queue, tt.worker); got != tt.want {
			t.Errorf("ConnectionName(%q, %q) = %q, want %q", tt.queue, tt.worker, got, tt.want)
		}
	}
}

func FuzzDecodeJob(f *testing.F) {
	f.Add("1700000000000", `{"attempts":3}`, `{"a":1}`, `["x"]`, "2", "boom")
	f.Add("1e400", `[`, ``, `{}`, "-", "\xff\n")
	f.Add("", `{"backoff":{"type":"x","delay":-1e99}}`, `null`, `[1]`, "9e99", "")
	f.Fuzz(func(t *testing.T, timestamp, opts, data, stacktrace, made, reason string) {
		j := decodeJob(nil, "1", map[string]string{
			"name": "x", "timestamp": timestamp, "opts": opts, "data": data, "stacktrace": stacktrace, "atm": made, "ats": made,
			"delay": timestamp, "priority": made, "progress": data, "failedReason": reason,
		})
		if !json.Valid(j.Data) && j.Fault() == nil {
			t.Fatalf("data %q is no JSON and no fault", j.Data)
		}
		if !json.Valid(j.PublicOptions()) {
			t.Fatalf("public options %q are no JSON", j.PublicOptions())
		}
		// Whatever the job holds, an attempt of it can be judged, and what is then written is well-formed.
		v := (&rules{}).judge(j, nil, errors.New(reason))
		if !json.Valid([]byte(v.stacktrace)) || !utf8.ValidString(v.result) || v.delay < 0 {
			t.Fatalf("verdict %+v", v)
		}
		if v.kind == delay && v.delay == 0 {
			t.Fatalf("a delay of nothing: %+v", v)
		}
		if row := firstLine(reason, 300); len(row) > 300 || strings.Contains(row, "\n") || !utf8.ValidString(row) {
			t.Fatalf("first line %q", row)
		}
	})
}

func FuzzDueTime(f *testing.F) {
	for _, score := range []float64{0, 1700000000000 * 4096, 1700000000000*4096 + 4095, -1, math.Inf(1), math.NaN(), 1e300} {
		f.Add(score)
	}
	f.Fuzz(func(t *testing.T, score float64) {
		due := dueTime(score)
		if score >= 4096 && score < 1<<53 && due.UnixMilli() != int64(score)/4096 {
			t.Fatalf("score %v is due at %d", score, due.UnixMilli())
		}
		if due.UnixMilli() > 1<<53 {
			t.Fatalf("score %v is due at %s", score, due)
		}
	})
}
