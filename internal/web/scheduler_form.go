package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/cron"
	"bullpen/internal/livepolicy"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// dateLayouts are the ways to write a date, the one that forms show first.
var dateLayouts = []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

// schedulerForm reads a scheduler from a form: what the form does not say stays as it is.
type schedulerForm struct {
	c       *Call
	current *engine.Scheduler // nil for a new one
	id      string
	rule    engine.Repeat
	job     engine.JobTemplate
	inputs  []templates.Input
	// changes are what the form changes of the current one.
	changes []templates.Sample
	valid   bool
	// submitted says that the form was sent, not just asked for.
	submitted bool
}

// readSchedulerForm reads the form of a call; current is the scheduler it is about, nil for a new one.
func (s *Server) readSchedulerForm(c *Call, current *engine.Scheduler) (*schedulerForm, error) {
	f := &schedulerForm{c: c, current: current, valid: true, submitted: c.API || c.Values.Has("name")}
	old := engine.Scheduler{Data: json.RawMessage("{}")}
	if current != nil {
		old = *current
		f.id, f.rule = old.ID, old.Repeat
		f.rule.Offset = 0 // the engine keeps the one that is stored
		if len(old.Data) == 0 {
			old.Data = json.RawMessage("{}")
		}
	} else {
		f.key()
	}
	f.rhythm(old.Repeat)
	f.zone(old.Repeat)
	f.dates(s.schedulerZone(f.rule))
	f.limit(old.Repeat)
	if current == nil {
		f.rule.Immediately = truthy(c.Values.Get("immediately"))
		f.inputs = append(f.inputs, templates.Input{Kind: "check", Name: "immediately", Label: "A pattern fires at once as well", Checked: f.rule.Immediately})
	}
	return f, s.readTemplate(f, old)
}

// field reads one input; check takes its text and says what is wrong with it.
func (f *schedulerForm) field(in templates.Input, old string, check func(string) string) {
	in.Value = old
	if f.c.Values.Has(in.Name) {
		in.Value = f.c.Values.Get(in.Name)
	}
	text := strings.TrimSpace(in.Value)
	if problem := check(text); f.submitted {
		in.Problem = problem
	}
	if m := f.c.Mistake; m != nil && schedulerInput(m.Field) == in.Name {
		in.Problem = sentence(m.Problem)
	}
	f.valid = f.valid && in.Problem == ""
	if f.current != nil && text != strings.TrimSpace(old) {
		f.changes = append(f.changes, templates.Sample{ID: in.Label, Text: change(old, text)})
	}
	f.inputs = append(f.inputs, in)
}

// change is what became of a text, without its middle if it is long.
func change(before, after string) string {
	if strings.Contains(before+after, "\n") || len(before)+len(after) > 200 {
		return "changed"
	}
	return jsonview.Visible(cmp.Or(before, "empty") + " → " + cmp.Or(after, "empty"))
}

// schedulerInput is the input for an option as the engine names it.
func schedulerInput(option string) string {
	switch option {
	case "id":
		return "key"
	case "repeat":
		return "pattern"
	case "startDate", "immediately":
		return "start"
	case "endDate":
		return "end"
	}
	return option
}

func (f *schedulerForm) key() {
	f.field(templates.Input{Kind: "text", Name: "key", Label: "Key", Help: "Names it for ever.", Required: true, Mono: true}, "", func(v string) string {
		if f.id = v; v == "" {
			return "A scheduler needs a key."
		}
		if strings.Count(v, ":") > 1 {
			return "At most one colon: keys with more look like those of old versions."
		}
		return ""
	})
}

func (f *schedulerForm) rhythm(old engine.Repeat) {
	every := ""
	if old.Every > 0 {
		every = livepolicy.DurationText(old.Every)
	}
	var spanProblem string
	f.field(templates.Input{Kind: "text", Name: "every", Label: "Every", Help: "Such as 30s, 5min or 12h."}, every, func(v string) string {
		d, err := parseSpan(v)
		if err != nil {
			spanProblem = sentence(err.Error())
		}
		f.rule.Every = d
		return spanProblem
	})
	f.field(templates.Input{Kind: "text", Name: "pattern", Label: "or by cron pattern", Help: "Up to six fields, seconds first.", Placeholder: "0 30 9 * * 1-5", Mono: true}, old.Pattern, func(v string) string {
		f.rule.Pattern = v
		switch {
		case v == "" && f.rule.Every == 0 && spanProblem == "":
			return "Say how often, or give a pattern."
		case v != "" && f.rule.Every != 0:
			return "Either an interval or a pattern, not both."
		case v == "":
			return ""
		}
		if _, err := cron.Parse(v, f.rule.HashSeed); err != nil {
			return sentence(err.Error())
		}
		return ""
	})
}

func (f *schedulerForm) zone(old engine.Repeat) {
	f.field(templates.Input{Kind: "text", Name: "tz", Label: "Zone of the pattern", Help: "Such as Europe/Berlin; empty: UTC."}, old.TZ, func(v string) string {
		f.rule.TZ = v
		if v == "" || f.rule.Pattern == "" {
			return ""
		}
		if _, err := cron.Zone(v); err != nil {
			return "No zone has this name."
		}
		return ""
	})
	if f.rule.Pattern == "" {
		f.rule.TZ = ""
	}
}

// dates are read in the zone of the pattern.
func (f *schedulerForm) dates(zone *time.Location) {
	read := func(name, label string, to *time.Time) {
		old := *to
		shown := ""
		if !old.IsZero() {
			shown = old.In(zone).Format(dateLayouts[0])
		}
		f.field(templates.Input{Kind: "text", Name: name, Label: label, Help: "Such as 2027-01-31 18:00, in " + zone.String() + "."}, shown, func(v string) string {
			if v == shown {
				return ""
			}
			t, ok := parseDate(v, zone)
			if *to = t; !ok {
				return "Write it as 2027-01-31 18:00."
			}
			return ""
		})
	}
	read("start", "Not before", &f.rule.StartDate)
	read("end", "Not after", &f.rule.EndDate)
}

// parseDate reads a date in a zone; the empty text is the zero time.
func parseDate(text string, zone *time.Location) (time.Time, bool) {
	if text == "" {
		return time.Time{}, true
	}
	for _, layout := range append(dateLayouts, time.RFC3339) {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func (f *schedulerForm) limit(old engine.Repeat) {
	shown := ""
	if old.Limit != nil {
		shown = strconv.FormatInt(*old.Limit, 10)
	}
	f.field(templates.Input{Kind: "text", Name: "limit", Label: "At most", Help: "Firings from now on; empty: no limit."}, shown, func(v string) string {
		f.rule.Limit = nil
		n := 0
		problem := wholeNumber(v, 1, 1_000_000_000, &n)
		if n > 0 {
			f.rule.Limit = ptr(int64(n))
		}
		return problem
	})
}

// readTemplate reads what the jobs are made of; options that the form does not have stay.
func (s *Server) readTemplate(f *schedulerForm, old engine.Scheduler) error {
	if int64(len(old.Data)) > openLimit {
		return problem(http.StatusUnprocessableEntity, "Too large to be edited here", "The data of its jobs has %s; at most %s can be edited here.",
			words.Bytes(int64(len(old.Data))), words.Bytes(openLimit))
	}
	sealed, err := jsonview.Seal(old.Data, s.o.Mask)
	if err != nil {
		return &Problem{Status: http.StatusUnprocessableEntity, Title: "The data cannot be edited", Detail: sentence(err.Error()), Field: "data", cause: err}
	}
	f.job.Options = old.Options
	f.field(templates.Input{Kind: "text", Name: "name", Label: "Name of its jobs", Help: "Empty: the key."}, old.Name, func(v string) string {
		f.job.Name = cmp.Or(v, f.id)
		return ""
	})
	f.number("attempts", "Attempts", "Empty: as the policy says.", 1, 1_000_000, &f.job.Options.Attempts)
	f.number("priority", "Priority", "1 runs first; empty or 0: none.", 0, 2_097_152, &f.job.Options.Priority)
	data := templates.Input{Kind: "area", Name: "data", Label: "Data of its jobs", Help: "JSON, stored as it is written.", Mono: true, Width: "wide"}
	if strings.Contains(sealed.Text, jsonview.MaskText) {
		data.Help = "JSON. Texts such as “masked 1” stand for values that you may not see; where they stay, the values stay."
	}
	f.field(data, sealed.Text, func(v string) string {
		raw, err := sealed.Open([]byte(cmp.Or(v, "{}")))
		f.job.Data = json.RawMessage(raw)
		switch text := cmp.Or(v, "{}"); {
		case err == nil:
			return ""
		case jsonProblem(json.RawMessage(text)) != "":
			return jsonProblem(json.RawMessage(text))
		}
		return sentence(err.Error())
	})
	return nil
}

// number reads a whole number; 0 is the empty text.
func (f *schedulerForm) number(name, label, help string, least, most int, to *int) {
	shown := ""
	if *to > 0 {
		shown = strconv.Itoa(*to)
	}
	f.field(templates.Input{Kind: "text", Name: name, Label: label, Help: help}, shown, func(v string) string {
		if v == shown {
			return ""
		}
		*to = 0
		return wholeNumber(v, least, most, to)
	})
}

// preview lists the next firings there would be; a finding of the engine goes beside its field.
func (f *schedulerForm) preview(q *engine.Queue) []time.Time {
	var runs []time.Time
	var err error
	if f.current != nil {
		runs, err = q.PreviewUpsert(f.current, f.rule, firingsShown)
	} else {
		runs, err = q.PreviewScheduler(f.id, f.rule, firingsShown)
	}
	if err == nil && len(runs) == 0 {
		err = &engine.FieldError{Field: "pattern", Problem: "It would never fire."}
		if f.rule.Pattern == "" {
			err = &engine.FieldError{Field: "endDate", Problem: "It would never fire."}
		}
	}
	if err != nil {
		f.fault(err)
	}
	return runs
}

// fault puts an error beside the field it is about.
func (f *schedulerForm) fault(err error) {
	f.valid = false
	p := asProblem(err)
	for i := range f.inputs {
		if f.inputs[i].Name == schedulerInput(p.Field) {
			f.inputs[i].Problem = sentence(strings.TrimPrefix(p.Detail, p.Field+": "))
			return
		}
	}
	f.inputs[0].Problem = sentence(p.Detail)
}

// problem is what is wrong with the form, for programs; nil if nothing is.
func (f *schedulerForm) problem() error {
	for _, in := range f.inputs {
		if in.Problem != "" {
			return &Problem{Status: http.StatusUnprocessableEntity, Title: "Not saved", Detail: in.Name + ": " + in.Problem, Field: in.Name}
		}
	}
	return nil
}

// formOf reads the form of a call with the scheduler it is about as it is now.
func (s *Server) formOf(ctx context.Context, c *Call) (*engine.Queue, *schedulerForm, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return nil, nil, err
	}
	var current *engine.Scheduler
	if id, ok := c.Params["scheduler"]; ok {
		if current, err = s.ownScheduler(ctx, c, q, id); err != nil {
			return nil, nil, err
		}
	}
	f, err := s.readSchedulerForm(c, current)
	if err != nil {
		return nil, nil, fmt.Errorf("read form: %w", err)
	}
	return q, f, nil
}
