package search

import (
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 3, 12, 14, 22, 5, 0, time.UTC)

func parse(t *testing.T, text string) *Query {
	t.Helper()
	q, err := Parse(text, Options{Now: now, Masked: func(name string) bool { return name == "password" }})
	require.NoError(t, err, text)
	return q
}

// failedJob is the job of the tables below.
func failedJob() *Job {
	return &Job{Queue: keys.Queue{Prefix: "bull", Name: "webhooks"}, State: keys.Failed, Row: engine.Row{
		ID: "order/7 ä", Name: "deliver", FailedReason: `connect ECONNREFUSED 203.0.113.24:443`, AttemptsMade: 5, Attempts: 5,
		Timestamp: now.Add(-3 * time.Hour), FinishedOn: time.Date(2026, 3, 12, 14, 5, 0, 0, time.UTC),
	}}
}

const payload = `{"customer": {"id": 42, "name": "Ada \"the\" L\u00f6velace", "email":"ada@mail.example"}, "total": 100.50,
 "big": 12345678901234567890, "tiny": 1e-400, "items": [{"sku":"a"},{"sku":"b"}, []], "on": true, "none": null,
 "odd.name": "x y", "password": "hunter2", "deep": {"password": {"a": "hunter3"}}, "same": 1, "same": 2, "empty": "", "digits": "007"}`

func TestRows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                                true,
		"deliver":                         true,
		"DELIV":                           true,
		"econnrefused":                    true,
		"order":                           true,
		"webhooks":                        false, // a bare word does not look at the queue
		`"connect econnrefused"`:          true,
		`"refused connect"`:               false,
		"-deliver":                        false,
		"-refund":                         true,
		`-"connect econnrefused"`:         false,
		"deliver and econnrefused":        true,
		"deliver AND -refund":             true,
		"deliver refund":                  false,
		`and`:                             false, // alone it is a word
		`"and"`:                           false,
		"203.0.113.24:443":                true,
		`"203.0.113.24:443"`:              true,
		"id:order":                        false,
		`id:"order/7 ä"`:                  true,
		`id:"Order/7 ä"`:                  false,
		"id:order*":                       true,
		"id:*7*":                          true,
		`id:"order*"`:                     false,
		"name:deliver":                    true,
		"name:liv":                        true,
		"NAME:deliver":                    true,
		"name:=deliver":                   true,
		"name:=Deliver":                   false,
		"name:=liv":                       false,
		"name:d*r":                        true,
		"name:d*x":                        false,
		"error:econn":                     true,
		`error:"connect ECONN"`:           true,
		"-error:econn":                    false,
		"state:failed":                    true,
		"state:completed,failed":          true,
		"-state:failed":                   false,
		"state:waiting":                   false,
		"queue:hook":                      true,
		"queue:=hook":                     false,
		"attempts:5":                      true,
		"attempts:>3":                     true,
		"attempts>3":                      true,
		"attempts:>5":                     false,
		"attempts:>=5":                    true,
		"attempts:<=4":                    false,
		"attempts:4..6":                   true,
		"attempts:..4":                    false,
		"age:>1h":                         false, // it failed 17 minutes ago
		"age>10min":                       true,
		"age:<1h":                         true,
		"age:10m..20m":                    true,
		`age:"< 2 days"`:                  true,
		"-age:>1h":                        true,
		"finished:14:00..14:10":           true,
		"finished:14:06..14:10":           false,
		"finished:14:05":                  true,
		"finished:14:04":                  false,
		"finished:>14:04":                 true,
		"finished:>=14:05":                true,
		"finished:>14:05":                 false,
		"finished:<14:05":                 false,
		"finished:..14:05":                true,
		"finished:14:06..":                false,
		"finished:2026-03-12":             true,
		"finished:2026-03-11":             false,
		"finished:>2026-03-12":            false,
		"finished:2026-03-10..2026-03-12": true,
		"finished:2026-03-12T14:00..2026-03-12T14:10":                         true,
		"finished:2026-03-12T15:00+01:00..2026-03-12T14:10Z":                  true,
		"finished:23:00..14:10":                                               true,  // over midnight
		"finished:15:00..16:00":                                               false, // yesterday's
		"failure:" + FailureID("deliver", "connect ECONNREFUSED 10.0.0.1:80"): true,
		"failure:" + FailureID("other", "connect ECONNREFUSED 10.0.0.1:80"):   false,
	} {
		q := parse(t, text)
		require.Equal(t, want, q.Row(failedJob()), text)
		require.Empty(t, q.Payloads(), text)
	}
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"data.customer.id:42":                       true,
		"data.customer.id:421":                      false,
		"data.customer.id:4":                        false,
		"data.customer.id:42.0":                     true,
		"data.customer.id:4.2e1":                    true,
		`data.customer.id:"42"`:                     false, // a number is no text
		"data.customer.id:*":                        true,
		"data.customer:*":                           true,
		"data.customer.nothing:*":                   false,
		"-data.customer.id:42":                      false,
		"-data.nothing:42":                          true,
		"data.big:12345678901234567890":             true,
		"data.big:12345678901234567891":             false, // as float they would be the same
		"data.big:>12345678901234567889":            true,
		"data.tiny:>0":                              true,
		"data.tiny:1e-401":                          false,
		"data.total:100.5":                          true,
		"data.total:>100":                           true,
		"data.total>100":                            true,
		"data.total:<100.49":                        false,
		"data.total:100..101":                       true,
		"data.digits:007":                           true,
		"data.digits:7":                             false, // text is compared as text
		"data.items[1].sku:b":                       true,
		"data.items[0].sku:b":                       false,
		"data.items[9].sku:b":                       false,
		"data.items[*].sku:b":                       true,
		"data.items[*].sku:c":                       false,
		"data.items.sku:b":                          false,
		"data.on:true":                              true,
		"data.on:false":                             false,
		"data.none:null":                            true,
		`data."odd.name":"x y"`:                     true,
		`data.customer.name:"Ada \"the\" Lövelace"`: true,
		"data.customer.email:*@mail.example":        true,
		"data.customer.email:ada@mail.example":      true,
		"data.customer.email:ADA@mail.example":      false,
		"data.same:1":                               true,
		"data.same:2":                               true,
		`data.empty:""`:                             true,
		"data:lövelace":                             true,
		"data:hunter":                               false, // masked, at any depth
		"data:42":                                   true,
		"data:sku":                                  false, // names are no values
		"opts.attempts:5":                           true,
		"opts.backoff.type:exponential":             true,
		"opts.keepLogs:>3":                          true, // by its public name
		"opts:expo":                                 true,
	} {
		q := parse(t, text)
		require.True(t, q.Row(failedJob()), text)
		got := true
		for _, field := range q.Payloads() {
			raw := payload
			if field == "opts" {
				raw = `{"attempts":5,"backoff":{"type":"exponential","delay":1000},"kl":5}`
			}
			got = got && q.Payload(field, []byte(raw))
		}
		require.Len(t, q.Payloads(), 1, text)
		require.Equal(t, want, got, text)
		for _, bad := range []string{"", "nope", `{"customer":`, `[`, `"x"`, "5", "null", "[[],{}]"} {
			q.Payload(q.Payloads()[0], []byte(bad)) // must not panic
		}
	}
	require.False(t, parse(t, "data.customer.id:42").Payload("data", nil))
	require.Equal(t, []string{"data", "opts"}, parse(t, "opts.a:1 data.b:2 data.c:3").Payloads())
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"color:red":                       "there is no key color; known are id, name, state, error, data.…, opts.…, attempts, age, finished, queue, failure and letter",
		"https://h.example/x":             "no key https",
		"name.first:x":                    "no key name.first",
		"name:":                           "what should name be?",
		`name:"x`:                         "a quotation mark is missing",
		`""`:                              "nothing between the quotation marks",
		"deliver and":                     `"and" stands between two terms`,
		"state:running":                   "no job is ever running; states are waiting, prioritized, active",
		"attempts:many":                   "attempts needs a number",
		"attempts:>":                      "attempts needs a number",
		"age:1h":                          "age needs a comparison",
		"age:>soon":                       "age needs a comparison",
		"age:>1":                          "age needs a comparison",
		"age:>999999999999d":              "age needs a comparison",
		"finished:soon":                   "finished needs a time",
		"finished:25:00":                  "finished needs a time",
		"finished:2026-03-12..2026-03-11": "the range ends before it begins",
		"data.password:x":                 "what is masked cannot be searched: data.password",
		"data.a.password.b:x":             "what is masked",
		"-data.password:*":                "what is masked",
		"data.password[0]:x":              "what is masked",
		"data.a[x]:1":                     "the path ends wrongly at [x]",
		"data.:1":                         "the path ends wrongly",
		"data.a..b:1":                     "the path ends wrongly",
		"data.a[-1]:1":                    "the path ends wrongly",
		"data.total:>many":                "only numbers can be compared",
		strings.Repeat("x", MaxLength+1):  "at most 2,000 characters",
		strings.Repeat("x ", 31):          "at most 30 terms",
	} {
		_, err := Parse(text, Options{Now: now, Masked: func(n string) bool { return n == "password" }})
		require.ErrorContains(t, err, want, text)
		var e *Error
		require.ErrorAs(t, err, &e)
	}
}

func TestTermsCanBeDropped(t *testing.T) {
	t.Parallel()
	q := parse(t, `  name:"a b"   and -error:x  finished:14:00..14:10 y`)
	require.Equal(t, `name:"a b" -error:x finished:14:00..14:10 y`, q.String())
	require.Equal(t, `name:"a b" finished:14:00..14:10 y`, q.Without(1))
	var shown []string
	for _, term := range q.Terms() {
		shown = append(shown, term.Key+"|"+term.Value)
	}
	require.Equal(t, []string{`name|"a b"`, "error|x", "finished|14:00..14:10", "|y"}, shown)
	require.True(t, q.Terms()[1].Not)
	require.Equal(t, "age|>1h", parse(t, "age>1h").Terms()[0].Key+"|"+parse(t, "age>1h").Terms()[0].Value)
	require.Equal(t, "-", parse(t, "-").Terms()[0].Value)
	require.True(t, parse(t, " ").Empty())
}

func TestWhatMustBeLookedThrough(t *testing.T) {
	t.Parallel()
	from, to := parse(t, "finished:14:00..14:10 age:>15min").Ended()
	require.Equal(t, "14:00:00.000", from.Format("15:04:05.000"))
	require.Equal(t, "14:07:04.999", to.Format("15:04:05.000"))
	from, to = parse(t, "x -finished:14:00..14:10").Ended()
	require.True(t, from.IsZero() && to.IsZero(), "a negation narrows nothing")
	require.Equal(t, []keys.State{keys.Completed, keys.Failed}, parse(t, "finished:14:00..").States())
	require.Equal(t, []keys.State{keys.Failed}, parse(t, "finished:14:00.. -state:completed").States())
	require.Equal(t, []keys.State{keys.Failed}, parse(t, "failure:3f9a01c2d4e5").States())
	require.Equal(t, []keys.State{keys.Waiting}, parse(t, "state:waiting,failed state:waiting").States())
	require.Equal(t, keys.States, parse(t, "age:>1h").States())
	for text, want := range map[string]string{"id:42": "42", `id:"a b*"`: "a b*", "id:4*": "", "-id:42": "", "42": "", "id:1 id:2": ""} {
		id, ok := parse(t, text).ID()
		require.Equal(t, want != "", ok, text)
		if ok {
			require.Equal(t, want, id)
		}
	}
}

func TestAgeOfJobsThatHaveNotEnded(t *testing.T) {
	t.Parallel()
	j := failedJob()
	j.State = keys.Waiting
	require.True(t, parse(t, "age:>2h").Row(j), "since it was added")
	require.False(t, parse(t, "finished:14:00..14:10").Row(j))
	j.Timestamp = time.Time{}
	require.False(t, parse(t, "age:<2h").Row(j), "unknown is no age")
}

func TestTimesAreOfTheZone(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 2*3600)
	q, err := Parse("finished:16:05", Options{Now: now, Zone: zone})
	require.NoError(t, err)
	require.True(t, q.Row(failedJob()))
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	order := []string{"-1e300", "-12", "-1.25", "-0.5", "-1e-300", "0", "1e-300", "0.1", "0.10001", "9", "10", "10.5", "99", "1e2", "12345678901234567890", "12345678901234567891", "1e300"}
	for i, a := range order {
		for j, b := range order {
			x, ok := parseDecimal(a)
			require.True(t, ok, a)
			y, ok := parseDecimal(b)
			require.True(t, ok, b)
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			require.Equal(t, want, x.compare(y), "%s and %s", a, b)
		}
	}
	for _, same := range []string{"10", "1e1", "10.0", "0010", "+10", "100e-1", "1.0E+1"} {
		d, ok := parseDecimal(same)
		require.True(t, ok, same)
		require.Zero(t, d.compare(wholeDecimal(10)), same)
	}
	zero, _ := parseDecimal("-0.00e5")
	require.Zero(t, zero.compare(wholeDecimal(0)))
	for _, bad := range []string{"", "-", "x", "1.", ".5", "1e", "1e+-5", "1e9999999999999999", "0x10", "NaN", "1 2", "1e5e5"} {
		_, ok := parseDecimal(bad)
		require.False(t, ok, bad)
	}
}

// FuzzParse: whatever is typed is a query or an error in words, and what a query says of itself reads as the same query.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`name:"a b" and -error:x`, "finished:14:00..14:10", "data.a.b[0]:value", `data."x y"[*].z:>1e5`, "age>1h attempts:<=3", `\"`, `-"`, `a"b":c`,
		"opts.:x", "-and", "id:*", "=", "data.a:=", `""""`, "state:failed,", "\xff:\xff", "age:>1h30m..2d",
	} {
		f.Add(s, `{"a":{"b":["value"]}}`)
	}
	j := failedJob()
	f.Fuzz(func(t *testing.T, text, doc string) {
		o := Options{Now: now, Masked: func(name string) bool { return strings.Contains(name, "secret") }}
		q, err := Parse(text, o)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		row := q.Row(j)
		q.States()
		q.Ended()
		q.ID()
		again, err := Parse(q.String(), o)
		require.NoError(t, err, "%q", q.String())
		require.Equal(t, q.String(), again.String())
		require.Equal(t, row, again.Row(j))
		for _, field := range q.Payloads() {
			require.Equal(t, q.Payload(field, []byte(doc)), again.Payload(field, []byte(doc)))
		}
	})
}

// FuzzPayload: no JSON text, valid or not, makes the walk leave its bounds.
func FuzzPayload(f *testing.F) {
	for _, s := range []string{payload, "[]", "{}", `{"a":[{"b":1}]}`, `"\\\""`, "[1,", `{"a"}`, " 5 ", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		for _, text := range []string{"data.a[*].b:>0", "data:x", "opts.a.b:y", "data.a:*"} {
			q, err := Parse(text, Options{Now: now, Masked: func(string) bool { return false }})
			require.NoError(t, err)
			q.Payload("data", []byte(doc))
			q.Payload("opts", []byte(doc))
		}
	})
}
