package search

import (
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

// Options are what the meaning of a query depends on.
type Options struct {
	// Now is the time ages and times of day count from. Required.
	Now time.Time
	// Zone is the time zone of times in a query; default UTC.
	Zone *time.Location
	// Masked reports whether values of a member of a payload are hidden, and so not searchable; nil hides none.
	Masked func(name string) bool
}

// MaxLength is how long a query may be, in bytes.
const MaxLength = 2000

// maxTerms bounds the work per job.
const maxTerms = 30

// Error says what is wrong with a query, in a sentence without its stop.
type Error struct {
	// Term is the term at fault, as typed.
	Term    string
	Problem string
}

func (e *Error) Error() string { return e.Problem }

// Query is a condition on jobs: all of its terms. The zero value holds for every job.
type Query struct {
	terms []Term
}

// Term is one condition of a query.
type Term struct {
	// Source is the term as it was typed.
	Source string
	// Key is what it looks at, "" for a bare word; Value is the rest as typed.
	Key, Value string
	// Not turns it round.
	Not bool

	test test
}

// test is what a term asks: of a job's row, or of one of its payloads.
type test struct {
	row   func(*Job) bool
	field string // the payload's field: data or opts
	doc   func(raw []byte) bool
	// ended bounds when the job ended, and onlyEnded says that it has. They narrow what must be looked through.
	ended     times
	onlyEnded bool
	states    []keys.State
	// queue says whether jobs of a queue with this name can pass; nil lets all in.
	queue func(name string) bool
}

// Job is what a query looks at: the row of a job, where it stands.
type Job struct {
	Queue keys.Queue
	State keys.State
	engine.Row
}

// Parse reads a query. An empty text is the query that every job meets. The error is an *Error.
func Parse(text string, o Options) (*Query, error) {
	if len(text) > MaxLength {
		return nil, &Error{Problem: "a query may have at most 2,000 characters"}
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	q, l := &Query{}, lexer{text: strings.ToValidUTF8(text, "\uFFFD")}
	joined := false // an "and" waits for its second term
	for {
		t, ok, err := l.next()
		if err != nil {
			return nil, err
		}
		switch {
		case !ok && joined:
			return nil, &Error{Term: "and", Problem: `"and" stands between two terms; put it in quotation marks to look for the word`}
		case !ok:
			return q, nil
		case strings.EqualFold(t.source, "and") && len(q.terms) > 0 && !joined:
			joined = true
			continue
		case len(q.terms) == maxTerms:
			return nil, &Error{Term: t.source, Problem: "a query may have at most 30 terms"}
		}
		term, err := o.term(t)
		if err != nil {
			return nil, err
		}
		q.terms, joined = append(q.terms, term), false
	}
}

// term turns a token into a condition.
func (o Options) term(t token) (Term, *Error) {
	term := Term{Source: t.source, Key: t.key, Not: t.not}
	fail := func(problem string) (Term, *Error) { return term, &Error{Term: t.source, Problem: problem} }
	term.Value = strings.TrimPrefix(t.source[len(t.key):], ":")
	if t.not {
		term.Value = strings.TrimPrefix(t.source[1+len(t.key):], ":")
	}
	if t.key == "" {
		if t.value == "" {
			return fail("there is nothing between the quotation marks")
		}
		term.test = anywhere(t)
		return term, nil
	}
	word, path, problem := splitPath(t.key)
	if problem != "" {
		return fail(problem)
	}
	k, ok := keyNamed(word)
	switch {
	case !ok || path != nil && k.payload == "":
		return fail(unknownKey(t))
	case t.value == "" && !t.quoted:
		return fail("what should " + t.key + " be? Write it behind the colon")
	}
	term.test, problem = k.parse(o, t, path)
	if problem != "" {
		return fail(problem)
	}
	return term, nil
}

// Terms returns the conditions in the order they were typed.
func (q *Query) Terms() []Term { return q.terms }

// Empty reports whether every job meets the query.
func (q *Query) Empty() bool { return len(q.terms) == 0 }

// String is the query as typed, with single spaces and without the word and.
func (q *Query) String() string { return q.Without(-1) }

// Without is the text of the query without its i-th term.
func (q *Query) Without(i int) string {
	var parts []string
	for j, t := range q.terms {
		if j != i {
			parts = append(parts, t.Source)
		}
	}
	return strings.Join(parts, " ")
}

// Row reports whether a job meets all terms that need no payload.
func (q *Query) Row(j *Job) bool {
	for _, t := range q.terms {
		if t.test.row != nil && t.test.row(j) == t.Not {
			return false
		}
	}
	return true
}

// Payloads lists the fields that must be read to decide: data, opts, both or none.
func (q *Query) Payloads() []string {
	var out []string
	for _, field := range []string{"data", "opts"} {
		for _, t := range q.terms {
			if t.test.field == field {
				out = append(out, field)
				break
			}
		}
	}
	return out
}

// Payload reports whether a job's payload meets all terms about it. raw is as stored, nil when there is none; it is
// JSON, and text that is not has no values.
func (q *Query) Payload(field string, raw []byte) bool {
	for _, t := range q.terms {
		if t.test.field == field && t.test.doc(raw) == t.Not {
			return false
		}
	}
	return true
}

// Ended bounds when an ended job that meets the query ended; the zero time is no bound. Both are inclusive.
func (q *Query) Ended() (from, to time.Time) {
	var all times
	for _, t := range q.terms {
		if !t.Not {
			all = all.and(t.test.ended)
		}
	}
	return all.from, all.to
}

// States lists the states that jobs which meet the query can be in, in the order of keys.States.
func (q *Query) States() []keys.State {
	var out []keys.State
	for _, st := range keys.States {
		if q.possible(st) {
			out = append(out, st)
		}
	}
	return out
}

// In says whether jobs of a queue can meet the query.
func (q *Query) In(queue keys.Queue) bool {
	for _, t := range q.terms {
		if t.test.queue != nil && t.test.queue(queue.Name) == t.Not {
			return false
		}
	}
	return true
}

func (q *Query) possible(st keys.State) bool {
	for _, t := range q.terms {
		if t.test.onlyEnded && !t.Not && st != keys.Completed && st != keys.Failed {
			return false
		}
		if t.test.states != nil && oneOf(t.test.states, st) == t.Not {
			return false
		}
	}
	return true
}

// ID is the id the query asks for, if it asks for nothing but one id.
func (q *Query) ID() (string, bool) {
	if len(q.terms) != 1 || q.terms[0].Not || !strings.EqualFold(q.terms[0].Key, "id") {
		return "", false
	}
	l := lexer{text: q.terms[0].Source}
	t, _, _ := l.next()
	return t.value, t.quoted || !strings.Contains(t.value, "*")
}
