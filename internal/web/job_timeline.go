package web

import (
	"strconv"
	"strings"
	"time"

	"bullpen/internal/words"
	"bullpen/templates"
)

// timeline draws a story to scale, from its first step to its end or to now.
func (s *Server) timeline(st story, now time.Time) templates.Timeline {
	if len(st.steps) < 2 {
		return templates.Timeline{}
	}
	start, end := st.steps[0].at, st.steps[len(st.steps)-1].at
	if last := st.steps[len(st.steps)-1]; last.kind != stepEnd {
		end = now
	}
	span := end.Sub(start)
	if span <= 0 {
		return templates.Timeline{}
	}
	percent := func(d time.Duration) string {
		return strconv.FormatFloat(100*min(max(d.Seconds()/span.Seconds(), 0), 1), 'f', 2, 64) + "%"
	}
	t := templates.Timeline{Marks: []templates.TimeMark{{X: "0", Strong: st.steps[0].label}}}
	sums := map[stepKind]time.Duration{}
	says := []string{"Timeline of " + words.Exact(span)}
	lastMark := 0.0
	for i, x := range st.steps {
		class, fill := stepColour(st, i)
		if class == "" {
			continue
		}
		until := x.until
		if until.IsZero() {
			until = end
		}
		took := until.Sub(x.at)
		sums[x.kind] += took
		// A stretch too short to see still gets a hair.
		width := max(took, span/300)
		t.Segments = append(t.Segments, templates.Segment{Class: class, Fill: fill, X: percent(x.at.Sub(start)), Width: percent(width)})
		says = append(says, strings.ToLower(x.label)+" "+words.Exact(took))
		at := x.at.Sub(start).Seconds() / span.Seconds()
		if x.kind == stepAttempt && (at-lastMark > 0.14 || lastMark == 0 && at > 0.08) {
			lastMark = at
			m := templates.TimeMark{X: percent(x.at.Sub(start)), Strong: strings.ToLower(x.label), Text: words.Exact(took)}
			if at > 0.85 {
				m.X, m.Anchor = "100%", "e"
			}
			t.Marks = append(t.Marks, m)
		}
	}
	t.Says = strings.Join(says, ", ")
	t.Ticks = s.timeTicks(start, end)
	t.Legend = timeLegend(st, sums)
	if len(t.Segments) == 0 {
		return templates.Timeline{}
	}
	return t
}

// stepColour is how a stretch is drawn; an attempt takes the colour of what came of it.
func stepColour(st story, i int) (class, fill string) {
	switch st.steps[i].kind {
	case stepWaited:
		return "s-waiting", "pale"
	case stepDelayed, stepBackoff:
		return "s-delayed", "fill"
	case stepChildren:
		return "s-children", "pale"
	case stepAttempt:
		if i+1 == len(st.steps) {
			return "s-active", "fill"
		}
		if next := st.steps[i+1]; next.kind == stepEnd {
			return "s-" + next.state, "fill"
		}
		return "s-failed", "fill"
	}
	return "", ""
}

func timeLegend(st story, sums map[stepKind]time.Duration) []templates.LegendPart {
	var out []templates.LegendPart
	for _, k := range []struct {
		kind        stepKind
		class, fill string
		label       string
	}{
		{stepWaited, "s-waiting", "pale", "waiting"},
		{stepDelayed, "s-delayed", "fill", "delayed"},
		{stepBackoff, "s-delayed", "fill", "backed off"},
		{stepChildren, "s-children", "pale", "waiting for children"},
		{stepAttempt, "s-active", "fill", "running"},
	} {
		if _, seen := sums[k.kind]; !seen {
			continue
		}
		part := templates.LegendPart{Class: k.class, Fill: k.fill, Label: k.label, Value: words.Exact(sums[k.kind])}
		if k.kind == stepAttempt {
			last := len(st.steps) - 1
			for i := last; i >= 0; i-- {
				if st.steps[i].kind == stepAttempt {
					part.Class, part.Fill = stepColour(st, i)
					break
				}
			}
		}
		out = append(out, part)
	}
	return out
}

// timeTicks puts about four round times under the line.
func (s *Server) timeTicks(start, end time.Time) []templates.TimeMark {
	span := end.Sub(start)
	step := 24 * time.Hour
	for _, d := range []time.Duration{
		10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second,
		time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour,
	} {
		if span/d <= 4 {
			step = d
			break
		}
	}
	for span/step > 5 {
		step *= 2
	}
	layout := "15:04:05"
	switch {
	case step < time.Second:
		layout = "15:04:05.000"
	case step >= 24*time.Hour:
		layout = "2 Jan"
	case step >= time.Minute:
		layout = "15:04"
	}
	var out []templates.TimeMark
	for t := start.Truncate(step).Add(step); t.Before(end); t = t.Add(step) {
		share := t.Sub(start).Seconds() / span.Seconds()
		m := templates.TimeMark{X: strconv.FormatFloat(100*share, 'f', 2, 64) + "%", Text: t.In(s.o.Zone).Format(layout), Anchor: "mid"}
		if share < 0.05 {
			m.Anchor = ""
		} else if share > 0.95 {
			m.Anchor = "e"
		}
		out = append(out, m)
	}
	return out
}
