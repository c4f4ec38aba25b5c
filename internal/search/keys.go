package search

import (
	"slices"
	"strings"

	"bullpen/internal/engine/keys"
	"bullpen/internal/fold"
)

// key is something a term can look at.
type key struct {
	name string
	// shown is how it stands in the list of known keys.
	shown string
	// compares says that < and > may stand for the colon.
	compares bool
	// payload is the field of the job's hash it looks into; such a key takes a path.
	payload string
	parse   func(o Options, t token, path []step) (test, string)
}

// allKeys are the known keys. It is a function because their parsers refer to it.
func allKeys() []key {
	return []key{
		{name: "id", shown: "id", parse: onText(wholeText, func(j *Job) string { return j.ID })},
		{name: "name", shown: "name", parse: onText(partText, func(j *Job) string { return j.Name })},
		{name: "state", shown: "state", parse: onState},
		{name: "error", shown: "error", parse: onText(partText, errorOf)},
		{name: "data", shown: "data.…", compares: true, payload: "data", parse: onPayload},
		{name: "opts", shown: "opts.…", compares: true, payload: "opts", parse: onPayload},
		{name: "attempts", shown: "attempts", compares: true, parse: onAttempts},
		{name: "age", shown: "age", compares: true, parse: onAge},
		{name: "finished", shown: "finished", compares: true, parse: onFinished},
		{name: "queue", shown: "queue", parse: onQueue},
		{name: "failure", shown: "failure", parse: onGroup(keys.Failed)},
		{name: "letter", shown: "letter", parse: onGroup(keys.Waiting)},
	}
}

func keyNamed(name string) (key, bool) {
	all := allKeys()
	i := slices.IndexFunc(all, func(k key) bool { return strings.EqualFold(k.name, name) })
	if i < 0 {
		return key{}, false
	}
	return all[i], true
}

// Known lists the keys a query may use, as errors show them.
func Known() []string {
	var out []string
	for _, k := range allKeys() {
		out = append(out, k.shown)
	}
	return out
}

func unknownKey(t token) string {
	known := Known()
	return "there is no key " + t.key + "; known are " + strings.Join(known[:len(known)-1], ", ") + " and " + known[len(known)-1] +
		`. To look for the text as it is, put it in quotation marks`
}

// errorOf is the error a query looks in: the reason a job failed, or the one it will fail with.
func errorOf(j *Job) string {
	if j.FailedReason == "" {
		return j.Deferred
	}
	return j.FailedReason
}

// anywhere looks for a bare word in id, name and error.
func anywhere(t token) test {
	is := partText(t)
	return test{row: func(j *Job) bool { return is(j.ID) || is(j.Name) || is(errorOf(j)) }}
}

// onText makes the parser of a key whose value is text.
func onText(match func(token) func(string) bool, of func(*Job) string) func(Options, token, []step) (test, string) {
	return func(_ Options, t token, _ []step) (test, string) {
		is := match(t)
		return test{row: func(j *Job) bool { return is(of(j)) }}, ""
	}
}

func onQueue(_ Options, t token, _ []step) (test, string) {
	is := partText(t)
	return test{row: func(j *Job) bool { return is(j.Queue.Name) }, queue: is}, ""
}

func onState(_ Options, t token, _ []step) (test, string) {
	var wanted []keys.State
	for name := range strings.SplitSeq(t.value, ",") {
		st := keys.State(strings.ToLower(strings.TrimSpace(name)))
		if !oneOf(keys.States, st) {
			var known []string
			for _, s := range keys.States {
				known = append(known, string(s))
			}
			return test{}, "no job is ever " + string(st) + "; states are " + strings.Join(known, ", ")
		}
		wanted = append(wanted, st)
	}
	return test{row: func(j *Job) bool { return oneOf(wanted, j.State) }, states: wanted}, ""
}

func oneOf(states []keys.State, st keys.State) bool { return slices.Contains(states, st) }

func onAttempts(_ Options, t token, _ []step) (test, string) {
	in, ok := parseInterval(t.value)
	lo, loOK := parseDecimal(in.lo)
	hi, hiOK := parseDecimal(in.hi)
	if !ok || in.lo != "" && !loOK || in.hi != "" && !hiOK {
		return test{}, "attempts needs a number, such as attempts:>3 or attempts:1..3"
	}
	return test{row: func(j *Job) bool { return in.holds(lo, hi, wholeDecimal(int64(j.AttemptsMade))) }}, ""
}

// onGroup looks for the jobs of a group: those in the state that have one name and one folded error. A dead letter
// waits, with its original's name and error.
func onGroup(st keys.State) func(Options, token, []step) (test, string) {
	return func(_ Options, t token, _ []step) (test, string) {
		return test{
			states: []keys.State{st}, onlyEnded: st == keys.Failed,
			row: func(j *Job) bool { return FailureID(j.Name, j.FailedReason) == t.value },
		}, ""
	}
}

// FailureID names the group of failures with one job name and one kind of error.
func FailureID(name, reason string) string { return fold.ID(name, fold.Error(reason)) }
