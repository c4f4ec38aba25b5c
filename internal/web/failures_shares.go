package web

import (
	"strconv"
	"strings"

	"bullpen/internal/failures"
	"bullpen/internal/fold"
	"bullpen/internal/words"
	"bullpen/templates"
)

// shares draws how the groups divide the failed jobs: a bar for each of the largest, and words for those that are wide
// enough. One group needs no picture.
func shares(groups []failures.Group) *templates.Shares {
	total := int64(0)
	for _, g := range groups {
		total += g.Count
	}
	if len(groups) < 2 || total == 0 {
		return nil
	}
	s := &templates.Shares{}
	var says []string
	x, named := 0.0, 0
	for i, g := range groups {
		if i == shareBars {
			break
		}
		share := 100 * float64(g.Count) / float64(total)
		class := "sg" + strconv.Itoa(min(i, 3))
		s.Parts = append(s.Parts, templates.ShareBar{Class: class, X: exactPercent(x), Width: exactPercent(max(share-gap, share/2))})
		if share >= leastNamed && named < 4 && named == i {
			m := templates.ShareMark{X: percent(x), Percent: words.Percent(share / 100), Text: shareText(g, share)}
			s.Marks = append(s.Marks, m)
			says = append(says, m.Percent+" "+shareText(g, 100))
			if named < 2 {
				s.Legend = append(s.Legend, templates.ShareMark{Percent: m.Percent, Text: shareText(g, 30)})
			}
			named++
		}
		x += share
	}
	if rest := len(groups) - named; rest > 0 && named > 0 {
		left := total
		for _, g := range groups[:named] {
			left -= g.Count
		}
		share := float64(left) / float64(total)
		text := words.Plural(int64(rest), "more group", "more groups")
		says = append(says, words.Percent(share)+" "+text)
		m := templates.ShareMark{X: percent(100 * (1 - share)), Percent: words.Percent(share), Text: text}
		s.Legend = append(s.Legend, m)
		if 100*share >= 2*leastNamed {
			s.Marks = append(s.Marks, m)
		}
	}
	s.Says = "Share of each group: " + strings.Join(says, ", ")
	return s
}

const (
	// gap is left between bars, in percent; leastNamed is how wide a bar must be to get words.
	gap        = 0.12
	leastNamed = 6
)

// exactPercent is a place on the bar: a pixel matters there.
func exactPercent(p float64) string { return strconv.FormatFloat(p, 'f', 2, 64) + "%" }

// shareText is what tells the group apart, as long as its share of the width allows.
func shareText(g failures.Group, share float64) string {
	longest := ""
	for _, p := range fold.Parts(g.Error) {
		if text := strings.Trim(p.Text, " :,;.()[]-"); len(text) > len(longest) {
			longest = text
		}
	}
	if longest == "" {
		longest = g.Error
	}
	runes := []rune(visibleText(longest))
	if room := int(share*1.1) - 6; len(runes) > room {
		if room < 4 {
			return ""
		}
		return strings.TrimSpace(string(runes[:room-1])) + "…"
	}
	return string(runes)
}
