package engine

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func TestDecodeOptions(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name   string
		stored string
		want   JobOptions
	}{
		{"empty", ``, JobOptions{}},
		{"nothing", `{}`, JobOptions{}},
		{"empty array of Lua", `[]`, JobOptions{}},
		{"attempts", `{"attempts":3}`, JobOptions{Attempts: 3}},
		{"explicit zeros", `{"attempts":0,"delay":0,"priority":0,"lifo":false,"kl":0,"sizeLimit":0,"omc":false}`, JobOptions{
			Given: GivenAttempts | GivenDelay | GivenPriority | GivenLIFO | GivenKeepLogs | GivenSizeLimit | GivenOmitContext,
		}},
		{"exponents", `{"attempts":1e1,"delay":1.5e+3,"timestamp":1.7e+12}`, JobOptions{
			Attempts: 10, Delay: 1500 * time.Millisecond, Timestamp: time.UnixMilli(1_700_000_000_000),
		}},
		{"fractions", `{"attempts":1.5,"delay":0.25}`, JobOptions{Attempts: 2, Delay: 250 * time.Microsecond}},
		{"numbers as text", `{"attempts":"3","delay":" 1000 "}`, JobOptions{Attempts: 3, Delay: s}},
		{"beyond all bounds", `{"attempts":1e300,"delay":1e300}`, JobOptions{Attempts: math.MaxInt32, Delay: math.MaxInt64}},
		{"backoff as number", `{"backoff":1000}`, JobOptions{Backoff: &Backoff{Type: "fixed", Delay: s}}},
		{"backoff as object", `{"backoff":{"type":"exponential","delay":1000,"jitter":0.5}}`, JobOptions{
			Backoff: &Backoff{Type: "exponential", Delay: s, Jitter: 0.5},
		}},
		{"backoff without delay", `{"backoff":{"type":"exponential"}}`, JobOptions{Backoff: &Backoff{Type: "exponential"}}},
		{"backoff as empty object", `{"backoff":{}}`, JobOptions{Backoff: &Backoff{}}},
		{"keep none", `{"removeOnComplete":true,"removeOnFail":0}`, JobOptions{KeepCompleted: KeepCount(0), KeepFailed: KeepCount(0)}},
		{"keep all", `{"removeOnComplete":false,"removeOnFail":-1}`, JobOptions{KeepCompleted: KeepCount(-1), KeepFailed: KeepCount(-1)}},
		{"keep some", `{"removeOnComplete":1e3,"removeOnFail":{"age":60,"count":5,"limit":7}}`, JobOptions{
			KeepCompleted: KeepCount(1000), KeepFailed: &Keep{Count: ptr(int64(5)), Age: ptr(time.Minute), Limit: ptr(int64(7))},
		}},
		{"keep as empty object", `{"removeOnFail":{}}`, JobOptions{KeepFailed: &Keep{}}},
		{"short names", `{"de":{"id":5,"ttl":1000,"extend":true,"replace":true},"fpof":true,"kl":9,"tm":"trace","omc":true}`, JobOptions{
			Deduplication: &Deduplication{ID: "5", TTL: s, Extend: true, Replace: true},
			OnFailure:     FailParentOnFailure, KeepLogs: 9, TelemetryContext: "trace", OmitContext: true,
		}},
		{"long names", `{"deduplication":{"id":"x","reschedule":true,"keepLastIfActive":true},"keepLogs":9,` +
			`"telemetry":{"metadata":"trace","omitContext":true},"ignoreDependencyOnFailure":true}`, JobOptions{
			Deduplication: &Deduplication{ID: "x", Reschedule: true, KeepLastIfActive: true},
			OnFailure:     IgnoreDependencyOnFailure, KeepLogs: 9, TelemetryContext: "trace", OmitContext: true,
		}},
		{"the later spelling counts", `{"kl":1,"keepLogs":2,"attempts":1,"attempts":2}`, JobOptions{KeepLogs: 2, Attempts: 2}},
		{"parent", `{"parent":{"id":"p","queue":"bull:q"}}`, JobOptions{Parent: &ParentRef{"p", "bull:q"}}},
		{"the rest", `{"jobId":"x","lifo":true,"priority":7,"stackTraceLimit":0}`, JobOptions{
			ID: "x", LIFO: true, Priority: 7, StackTraceLimit: ptr(0),
		}},
		{"nulls are not given", `{"attempts":null,"backoff":null,"jobId":null,"mine":null}`, JobOptions{}},
		{"unknown options", `{"mine":[1, 2],"repeat":{"every":5}}`, JobOptions{Extra: map[string]json.RawMessage{
			"mine": json.RawMessage("[1, 2]"), "repeat": json.RawMessage(`{"every":5}`),
		}}},
		{"nonsense in known options", `{"priority":[1],"lifo":"x","backoff":"y","de":{},"cpof":false}`, JobOptions{Extra: map[string]json.RawMessage{
			"priority": json.RawMessage("[1]"), "lifo": json.RawMessage(`"x"`), "backoff": json.RawMessage(`"y"`),
			"deduplication": json.RawMessage("{}"), "continueParentOnFailure": json.RawMessage("false"),
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeOptions([]byte(tt.stored))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			again, err := decodeOptions(got.encode())
			if err != nil {
				t.Fatal(err)
			}
			got.Given |= again.Given & GivenAttempts // attempts is always stored
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("after storing and reading again (-before +after):\n%s", diff)
			}
		})
	}
}

func TestDecodeOptionsRefuses(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{`{`, `[1]`, `null`, `3`, `"x"`, `{"a":1}{}`, `{a:1}`} {
		if _, err := decodeOptions([]byte(stored)); err == nil {
			t.Errorf("decodeOptions(%s) found nothing wrong", stored)
		}
	}
}

func TestEncodeOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    JobOptions
		want string
	}{
		{"nothing", JobOptions{}, `{"attempts":0}`},
		{"explicit zeros", JobOptions{Given: GivenDelay | GivenPriority | GivenLIFO}, `{"attempts":0,"delay":0,"priority":0,"lifo":false}`},
		{"all", JobOptions{
			ID: "a<b", Attempts: 3, Backoff: &Backoff{"fixed", time.Second, 0.25}, Delay: 90 * time.Second, Priority: 5, LIFO: true,
			Timestamp: time.UnixMilli(1_700_000_000_000), KeepCompleted: KeepCount(0), KeepFailed: KeepAge(time.Hour), KeepLogs: 2,
			StackTraceLimit: ptr(0), SizeLimit: 100, Parent: &ParentRef{"p", "bull:q"}, OnFailure: RemoveDependencyOnFailure,
			TelemetryContext: "t", OmitContext: true,
			Extra: map[string]json.RawMessage{"zz": json.RawMessage("1"), "aa": json.RawMessage(`[ ]`), "attempts": json.RawMessage("9")},
		}, `{"attempts":3,"jobId":"a<b","backoff":{"type":"fixed","delay":1000,"jitter":0.25},"delay":90000,"priority":5,"lifo":true,` +
			`"timestamp":1700000000000,"removeOnComplete":true,"removeOnFail":{"age":3600},"kl":2,"stackTraceLimit":0,"sizeLimit":100,` +
			`"parent":{"id":"p","queue":"bull:q"},"rdof":true,"tm":"t","omc":true,"aa":[ ],"zz":1}`},
		{"deduplication", JobOptions{Deduplication: &Deduplication{"d", time.Second, true, true, true, true}}, `{"attempts":0,"de":` +
			`{"id":"d","ttl":1000,"extend":true,"replace":true,"reschedule":true,"keepLastIfActive":true}}`},
		{"retention", JobOptions{KeepCompleted: KeepCount(-1), KeepFailed: KeepCount(12)}, `{"attempts":0,"removeOnComplete":false,"removeOnFail":12}`},
		{"large numbers", JobOptions{Delay: 1e12 * time.Millisecond}, `{"attempts":0,"delay":1000000000000}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := string(tt.o.encode()); got != tt.want {
				t.Errorf("encoded\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

func TestPublicOptions(t *testing.T) {
	t.Parallel()
	j := decodeJob(nil, "1", map[string]string{
		"opts": `{"kl":1,"mine":1e+3,"tm":"x","keepLogs":2,"fpof":true,"omc":true,"u":"\/","de":{"id":"d"}}`,
	})
	want := `{"mine":1e+3,"keepLogs":2,"failParentOnFailure":true,"u":"\/","deduplication":{"id":"d"},` +
		`"telemetry":{"metadata":"x","omitContext":true}}`
	if got := string(j.PublicOptions()); got != want {
		t.Errorf("public options\n%s, want\n%s", got, want)
	}
	if got := string(decodeJob(nil, "1", map[string]string{"opts": "{"}).PublicOptions()); got != "{}" {
		t.Errorf("public options of nonsense = %s, want {}", got)
	}
}

func TestOptionsOver(t *testing.T) {
	t.Parallel()
	base := JobOptions{
		Attempts: 3, Delay: time.Second, LIFO: true, Backoff: &Backoff{Type: "fixed"}, KeepFailed: KeepCount(1),
		Extra: map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage("1")},
	}
	got := JobOptions{
		Attempts: 5, Given: GivenDelay, KeepFailed: KeepCount(-1), Extra: map[string]json.RawMessage{"b": json.RawMessage("2")},
	}.Over(base)
	want := JobOptions{
		Attempts: 5, LIFO: true, Backoff: base.Backoff, KeepFailed: KeepCount(-1), Given: GivenDelay,
		Extra: map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage("2")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged options (-want +got):\n%s", diff)
	}
}

func TestValidateOptions(t *testing.T) {
	t.Parallel()
	yes := json.RawMessage("true")
	tests := []struct {
		name string
		o    JobOptions
		want string // field: text; "" = accepted
	}{
		{"nothing", JobOptions{}, ""},
		{"id", JobOptions{ID: "order-1"}, ""},
		{"id with leading zero", JobOptions{ID: "007"}, ""},
		{"id with exponent", JobOptions{ID: "1e3"}, ""},
		{"id with space", JobOptions{ID: " 7"}, ""},
		{"fraction as id", JobOptions{ID: "1.5"}, ""},
		{"minus zero as id", JobOptions{ID: "-0"}, ""},
		{"digits beyond what JavaScript holds", JobOptions{ID: "12345678901234567891"}, ""},
		{"three parts", JobOptions{ID: "repeat:x:1"}, ""},
		{"zero", JobOptions{ID: "0"}, "jobId: JobId cannot be '0' or start with '0:'"},
		{"marker", JobOptions{ID: "0:1:2"}, "jobId: JobId cannot be '0' or start with '0:'"},
		{"integer", JobOptions{ID: "123"}, "jobId: Custom Id cannot be integers"},
		{"negative integer", JobOptions{ID: "-5"}, "jobId: Custom Id cannot be integers"},
		{"large integer", JobOptions{ID: "12345678901234567000"}, "jobId: Custom Id cannot be integers"},
		{"not a number", JobOptions{ID: "NaN"}, "jobId: Custom Id cannot be integers"},
		{"two parts", JobOptions{ID: "a:b"}, "jobId: Custom Id cannot contain :"},
		{"four parts", JobOptions{ID: "a:b:c:d"}, "jobId: Custom Id cannot contain :"},
		{"reserved", JobOptions{ID: "wait"}, `jobId: "wait" is the name of one of the queue's own keys`},
		{"reserved with colons", JobOptions{ID: "metrics:failed:data"}, `jobId: "metrics:failed:data" is the name of one of the queue's own keys`},
		{"deduplication key", JobOptions{ID: "de:a:b"}, `jobId: "de:a:b" could be the key of a deduplication id`},
		{"largest priority", JobOptions{Priority: 2097151}, ""},
		{"too large a priority", JobOptions{Priority: 2097152}, "priority: Priority should be between 0 and 2097151"},
		{"negative priority", JobOptions{Priority: -1}, "priority: Priority should be between 0 and 2097151"},
		{"jitter", JobOptions{Backoff: &Backoff{Type: "fixed", Jitter: 1.1}}, "backoff: Jitter should be between 0 and 1"},
		{"jitter not a number", JobOptions{Backoff: &Backoff{Type: "fixed", Jitter: math.NaN()}}, "backoff: Jitter should be between 0 and 1"},
		{"no backoff type", JobOptions{Backoff: &Backoff{}}, "backoff: the type is missing: fixed, exponential or the name of a custom strategy"},
		{"custom backoff", JobOptions{Backoff: &Backoff{Type: "mine"}}, ""},
		{"two failure options", JobOptions{
			OnFailure: FailParentOnFailure, Extra: map[string]json.RawMessage{RemoveDependencyOnFailure: yes},
		}, "failParentOnFailure: The following options cannot be used together: removeDependencyOnFailure, failParentOnFailure"},
		{"unknown failure option", JobOptions{OnFailure: "explode"}, `onFailure: "explode" is none of removeDependencyOnFailure, ` +
			`failParentOnFailure, continueParentOnFailure, ignoreDependencyOnFailure`},
		{"deduplication without id", JobOptions{Deduplication: &Deduplication{}}, "deduplication: Deduplication id must be provided"},
		{"deduplication with parent", JobOptions{
			Deduplication: &Deduplication{ID: "x"}, Parent: &ParentRef{"p", "bull:q"},
		}, "deduplication: Deduplication and parent options cannot be used together"},
		{"parent without id", JobOptions{Parent: &ParentRef{"", "bull:q"}}, "parent: the id is missing"},
		{"parent with bare queue", JobOptions{Parent: &ParentRef{"p", "q"}}, `parent: the queue "q" is not a qualified name, prefix:queue`},
		{"debounce", JobOptions{Extra: map[string]json.RawMessage{"debounce": yes}}, "debounce: Debounce option has been removed. Use deduplication option instead"},
		{"extra without JSON", JobOptions{Extra: map[string]json.RawMessage{"x": json.RawMessage("{")}}, "x: the value is not JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.o.validate(false)
			got := ""
			if err != nil {
				got = err.Error()
				if !errors.Is(err, ErrInvalid) {
					t.Errorf("%v is no ErrInvalid", err)
				}
			}
			if got != tt.want {
				t.Errorf("validate = %q, want %q", got, tt.want)
			}
		})
	}
	if err := (JobOptions{ID: "0:1:2"}).validate(true); err != nil {
		t.Errorf("a bulk add refuses the id 0:1:2: %v", err)
	}
}

func TestEncodeData(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"nothing", nil, `{}`},
		{"no bytes", json.RawMessage{}, `{}`},
		{"null", json.RawMessage("null"), `null`},
		{"bytes as they are", json.RawMessage(`{"b": 1.10, "a":12345678901234567890}`), `{"b": 1.10, "a":12345678901234567890}`},
		{"value", map[string]string{"url": "a<b>&c"}, `{"url":"a<b>&c"}`},
	}
	for _, tt := range tests {
		if got, err := encodeData(tt.v); err != nil || string(got) != tt.want {
			t.Errorf("%s: encodeData = %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
	for _, v := range []any{json.RawMessage("{"), json.RawMessage("\"\xff\""), func() {}, math.Inf(1)} {
		if _, err := encodeData(v); !errors.Is(err, ErrInvalid) {
			t.Errorf("encodeData(%v) = %v, want ErrInvalid", v, err)
		}
	}
	o := JobOptions{SizeLimit: 7}
	if err := o.checkSize("mail", json.RawMessage(`{"a":1}`)); err != nil {
		t.Errorf("data of exactly the limit: %v", err)
	}
	if err := o.checkSize("mail", json.RawMessage(`"éééé"`)); err == nil || !strings.Contains(err.Error(), "The size of job mail exceeds the limit 7 bytes") {
		t.Errorf("data over the limit: %v", err)
	}
}

func FuzzDecodeOptions(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"attempts":1e400}`, `{"attempts":0,"delay":1.5e+3,"backoff":5,"removeOnFail":{"age":1e9}}`,
		`{"de":{"id":5},"telemetry":{"metadata":"x"},"fpof":true,"cpof":true,"kl":-1}`, `{"timestamp":"1e99","stackTraceLimit":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		o, err := decodeOptions(stored)
		if err != nil {
			return
		}
		text := o.encode()
		again, err := decodeOptions(text)
		if err != nil {
			t.Fatalf("cannot read what was written for %s: %s: %v", stored, text, err)
		}
		if twice := string(again.encode()); twice != string(text) {
			t.Fatalf("%s is stored as\n%s and then as\n%s", stored, text, twice)
		}
		_ = o.validate(false)
	})
}
