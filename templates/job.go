package templates

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// JobPage is one job with everything known about it.
type JobPage struct {
	Crumbs []Crumb
	State  State
	Name   string
	ID     string
	Badges []BadgeView
	// Finding is the sentence in bold, Say goes on.
	Finding, Say string
	Acts         []Act
	// Links are acts that ask on a page of their own.
	Links    []Act
	Timeline Timeline
	Traces   Traces
	Logs     Logs
	Steps    []StepRow
	// StepNote says what is no longer known.
	StepNote string
	Payloads []Payload
	Options  []Fact
	Flow     FlowTree
	Raw      []RawField
	// Key is the job's key in Redis.
	Key string
}

// Timeline draws the steps on one line. Empty when there is nothing to draw.
type Timeline struct {
	Says     string
	Segments []Segment
	Marks    []TimeMark
	Ticks    []TimeMark
	Legend   []LegendPart
}

// Segment is a stretch of the timeline; X and Width are percentages as text.
type Segment struct{ Class, Fill, X, Width string }

// TimeMark is a word at a place of the timeline.
type TimeMark struct{ X, Strong, Text, Anchor string }

// LegendPart explains a colour and sums it up.
type LegendPart struct{ Class, Fill, Label, Value string }

// Traces are the errors of the attempts, newest first.
type Traces struct {
	List []Trace
	// None is the sentence that stands there when there are no traces.
	None string
	// Note says what was left out.
	Note string
}

// Trace is one failed attempt.
type Trace struct {
	Label, First string
	Lines        []CodeToken
	Open         bool
}

// Logs are the newest log rows.
type Logs struct {
	Filter string
	// Fields keep the rest of the address when the filter is sent.
	URL    string
	Fields []Field
	// Count says how many are shown of how many.
	Count string
	Rows  []string
	None  string
}

// StepRow is a line of the history.
type StepRow struct {
	At    When
	State State
	Label string
	Took  string
	Note  string
}

// Payload is a JSON text of the job: data, result, progress.
type Payload struct {
	ID, Title, Size string
	Code            []CodeToken
	// Notice says why it is not shown whole.
	Notice  string
	OpenURL string
	// FileURL downloads it as it is stored.
	FileURL string
	// None stands there when the job has no such text.
	None string
}

// CodeToken is a run of text with the class of its colour: "k", "v-s", "v-n", "v-b", "mask", "err", "lib" or "".
type CodeToken struct{ Class, Text string }

// codeText writes tokens one after the other. It is not a template, because white space counts here.
func codeText(tokens []CodeToken) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		for _, t := range tokens {
			text := templ.EscapeString(t.Text)
			if t.Class != "" {
				text = `<span class="` + templ.EscapeString(t.Class) + `">` + text + `</span>`
			}
			b.WriteString(text)
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// RawField is a field of the job's hash.
type RawField struct{ Name, Size, Text string }
