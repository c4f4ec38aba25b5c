package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// maxSlots is how many places are drawn one by one; a larger ceiling is a bar.
const maxSlots = 60

// policyCeiling is the equation of the ceiling against what is active and needed.
func policyCeiling(p policyState) templates.Ceiling {
	var c templates.Ceiling
	q := p.q
	if !q.CeilingKnown {
		c.Notes = append(c.Notes, ceilingUnknown(p))
		return c
	}
	c.Sum = ceilingSum(p)
	active := q.Counts[keys.Active]
	if q.Ceiling > 0 && q.Ceiling <= maxSlots {
		c.Slots = slots(active, q.Ceiling)
	} else if q.Ceiling > maxSlots {
		c.Meter = &templates.Meter{Class: meterClass(active, q.Ceiling), Value: active, Max: q.Ceiling}
	}
	note := words.Count(active) + " of " + words.Plural(q.Ceiling, "place", "places") + " taken."
	if g := q.GlobalConcurrency; g > 0 {
		if q.CeilingSource == "global" {
			note += " The fleet's bound of " + words.Count(g) + " decides."
		} else {
			note += " The fleet's bound of " + words.Count(g) + " does not bind."
		}
	}
	c.Notes = append(c.Notes, note)
	if others := q.Workers - q.BullpenWorkers; others > 0 && p.inForce.WorkerConcurrency > 0 {
		c.Notes = append(c.Notes, words.Plural(others, "worker is", "workers are")+" not Bullpen's and counted with "+words.Count(int64(p.inForce.WorkerConcurrency))+" each, as declared.")
	}
	if z := p.size; p.load.MeanRun > 0 && q.Rate.Known {
		c.Need = []templates.Term{
			{Number: words.Number(z.Starts), Word: "starts/s"},
			{Sign: "×", Number: words.Exact(p.load.MeanRun), Word: "each"},
			{Sign: "=", Number: words.Number(z.Starts * p.load.MeanRun.Seconds()), Word: "in flight"},
		}
		c.Spare = spareWords(z.Starts*p.load.MeanRun.Seconds(), q.Ceiling)
	}
	return c
}

func ceilingUnknown(p policyState) string {
	switch {
	case !p.q.WorkersKnown:
		return "Unknown: Redis does not let Bullpen list clients, so it does not see the workers."
	case p.q.Workers > p.q.BullpenWorkers:
		return "Unknown: " + words.Plural(p.q.Workers-p.q.BullpenWorkers, "worker is", "workers are") + " not Bullpen's and do not say how much they run at once. worker_concurrency in bullpen.yaml declares it."
	}
	return "Unknown yet."
}

func spareWords(needed float64, ceiling int64) string {
	if ceiling == 0 {
		return "No worker runs any of it."
	}
	use := needed / float64(ceiling)
	if spare := float64(ceiling) - needed; spare >= 0 {
		return words.Percent(use) + " of the ceiling, " + words.Number(spare) + " to spare."
	}
	return words.Percent(use) + " of the ceiling: " + words.Number(needed-float64(ceiling)) + " more places are needed."
}

// ceilingSum is replicas × workers × concurrency where all are alike, else the workers and what they sum up to.
func ceilingSum(p policyState) []templates.Term {
	own := p.bullpen()
	total := templates.Term{Sign: "=", Number: words.Count(p.q.Ceiling), Word: "at once"}
	per, each, alike := workersPerReplica(own)
	if p.q.CeilingSource == "global" {
		return []templates.Term{{Number: words.Count(p.q.Announced), Word: "announced"}, {Sign: "bounded to", Number: words.Count(p.q.Ceiling), Word: "at once"}}
	}
	if len(own) == 0 || !alike || p.q.Workers > p.q.BullpenWorkers {
		return []templates.Term{{Number: words.Count(p.q.Workers), Word: plural(p.q.Workers, "worker", "workers")}, total}
	}
	replicas := int64(len(replicasOf(own)))
	terms := []templates.Term{{Number: words.Count(replicas), Word: plural(replicas, "replica", "replicas")}}
	terms = append(terms, templates.Term{Sign: "×", Number: words.Count(per), Word: plural(per, "worker", "workers")})
	return append(terms, templates.Term{Sign: "×", Number: words.Count(each), Word: "each"}, total)
}

// plural is the noun alone.
func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// replicasOf counts the workers of each process.
func replicasOf(workers []monitor.Worker) map[string]int64 {
	out := map[string]int64{}
	for _, w := range workers {
		out[w.Host+" "+strconv.Itoa(w.PID)]++
	}
	return out
}

// workersPerReplica reports whether every process has as many workers as every other, each with the same concurrency.
func workersPerReplica(own []monitor.Worker) (per, each int64, alike bool) {
	for _, n := range replicasOf(own) {
		if per != 0 && per != n {
			return 0, 0, false
		}
		per = n
	}
	for i, w := range own {
		if i > 0 && int64(w.Concurrency) != each {
			return 0, 0, false
		}
		each = int64(w.Concurrency)
	}
	return per, each, true
}

// slots draws the places of the ceiling, the taken ones first.
func slots(taken, all int64) *templates.Slots {
	s := &templates.Slots{ViewBox: fmt.Sprintf("0 0 %d 15", 18*all-3), Story: words.Count(min(taken, all)) + " of " + words.Plural(all, "place", "places") + " taken"}
	if all < 20 { // few places must not grow beyond their size
		s.ViewBox = "0 0 357 15"
	}
	for i := range all {
		s.Places = append(s.Places, templates.Slot{X: strconv.FormatFloat(float64(18*i)+0.5, 'f', 1, 64), Taken: i < taken})
	}
	return s
}

// policySettings lists what is in force and where it was set.
func policySettings(p policyState) []templates.PolicySetting {
	file := p.source
	written := map[string]string{}
	for _, s := range livepolicy.Settings(p.file) {
		written[s.Field] = s.Value
	}
	var out []templates.PolicySetting
	for _, s := range livepolicy.Settings(p.inForce) {
		row := templates.PolicySetting{Field: s.Field, Value: s.Value, Source: "default"}
		if isWritten(p.file, s.Field) {
			row.Source = file
		}
		switch {
		case p.record.Live.Has(s.Field):
			row.Source, row.Class = "live, revision "+strconv.FormatInt(p.record.Revision, 10), "s-active"
			if written[s.Field] != s.Value {
				row.Other = file + " says " + written[s.Field]
			}
		case s.Field == "global_concurrency" && p.found.Concurrency > 0 && p.file.GlobalConcurrency != int(p.found.Concurrency):
			row.Source = "Redis"
		case s.Field == "limiter" && p.found.Max > 0 && written[s.Field] != s.Value:
			row.Source = "Redis"
			if isWritten(p.file, s.Field) {
				row.Other = file + " says " + written[s.Field]
			}
		}
		out = append(out, row)
	}
	return append(out, fixedSettings(p, file)...)
}

// isWritten reports whether the file sets a field that can be changed live.
func isWritten(p policy.Policy, field string) bool {
	switch field {
	case "attempts":
		return p.Attempts > 0
	case "backoff":
		return p.Backoff != policy.Backoff{}
	case "concurrency":
		return p.Concurrency > 0
	case "global_concurrency":
		return p.GlobalConcurrency > 0 || p.ClearGlobal
	case "limiter":
		return p.Limiter.Max > 0
	case "keep_completed":
		return p.KeepCompleted.Set
	case "keep_failed":
		return p.KeepFailed.Set
	}
	return false
}

// fixedSettings are the fields that only the file can change.
func fixedSettings(p policyState, file string) []templates.PolicySetting {
	in, was := p.inForce, p.file
	source := func(written bool) string {
		if written {
			return file
		}
		return "default"
	}
	orNone := func(d time.Duration) string {
		if d == 0 {
			return "none"
		}
		return livepolicy.DurationText(d)
	}
	yes := map[bool]string{true: "true", false: "false"}
	out := []templates.PolicySetting{
		{Field: "retry_after", Value: yes[*in.RetryAfter], Source: source(was.RetryAfter != nil)},
		{Field: "timeout", Value: orNone(in.Timeout), Source: source(was.Timeout > 0)},
		{Field: "lock_duration", Value: livepolicy.DurationText(in.LockDuration), Source: source(was.LockDuration > 0)},
		{Field: "stalled_interval", Value: livepolicy.DurationText(in.StalledInterval), Source: source(was.StalledInterval > 0)},
		{Field: "max_stalled", Value: strconv.Itoa(*in.MaxStalled), Source: source(was.MaxStalled != nil)},
		{Field: "dead_letter", Value: cmp.Or(in.DeadLetter, "none"), Source: source(was.DeadLetter != "")},
	}
	if in.MaxStartedAttempts > 0 {
		out = append(out, templates.PolicySetting{Field: "max_started_attempts", Value: strconv.Itoa(in.MaxStartedAttempts), Source: file})
	}
	return out
}

// policyFleet lists the workers and where their policies differ.
func policyFleet(p policyState) templates.Fleet {
	var f templates.Fleet
	files, behind := map[string][]string{}, []string{}
	for _, w := range p.bullpen() {
		row := templates.FleetRow{Name: visibleText(w.Name), Where: visibleText(w.Host) + ", process " + strconv.Itoa(w.PID), Concurrency: words.Count(int64(w.Concurrency)), Revision: "file", File: visibleText(w.PolicyHash)}
		if w.Revision > 0 {
			row.Revision = "revision " + strconv.FormatInt(w.Revision, 10)
		}
		if w.Revision != p.record.Revision {
			row.Class = "s-failed"
			behind = append(behind, visibleText(w.Name))
		}
		files[w.PolicyHash] = append(files[w.PolicyHash], visibleText(w.Name))
		f.Rows = append(f.Rows, row)
	}
	var drift []string
	if len(behind) > 0 {
		drift = append(drift, words.Plural(int64(len(behind)), "worker does", "workers do")+" not act by revision "+strconv.FormatInt(p.record.Revision, 10)+" yet: "+strings.Join(behind, ", ")+".")
	}
	if len(files) > 1 {
		drift = append(drift, "The workers were started with different files: "+groupsOf(files)+".")
	}
	f.Drift = strings.Join(drift, " ")
	switch others := p.q.Workers - p.q.BullpenWorkers; {
	case len(f.Rows) == 0 && others > 0:
		f.Note = words.Plural(others, "worker", "workers") + ", none of them Bullpen's: they obey the fleet's bound and a limiter for all clients, nothing else of this policy."
	case len(f.Rows) == 0:
		f.Note = "No worker of Bullpen's runs this queue now."
	case others > 0:
		f.Note = words.Plural(others, "more worker is not Bullpen's and obeys", "more workers are not Bullpen's and obey") + " only the fleet's bound and a limiter for all clients."
	}
	return f
}

// groupsOf names the workers of each file by the hash of its policy.
func groupsOf(files map[string][]string) string {
	var parts []string
	for hash, names := range files {
		slices.Sort(names)
		parts = append(parts, hash+" on "+strings.Join(names, ", "))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}
