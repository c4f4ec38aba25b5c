package alerting

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"
	"time"

	"bullpen/alerts"
)

// texts are the templates of a rule, in the language of Prometheus.
type texts struct{ summary, description *template.Template }

func newTexts(a alerts.Alert) texts {
	parse := func(text string) *template.Template {
		head := `{{ $labels := .Labels }}{{ $value := .Value }}`
		return template.Must(template.New(a.Name).Funcs(template.FuncMap{
			"humanize": humanize, "humanizeDuration": humanizeDuration, "humanizePercentage": humanizePercentage,
		}).Parse(head + text))
	}
	return texts{parse(a.Summary), parse(a.Description)}
}

func (t texts) render(labels Labels, v float64) (summary, description string) {
	data := struct {
		Labels map[string]string
		Value  float64
	}{labels.Map(), v}
	fill := func(t *template.Template) string {
		var b strings.Builder
		if err := t.Execute(&b, data); err != nil {
			return "cannot be shown: " + err.Error()
		}
		return b.String()
	}
	return fill(t.summary), fill(t.description)
}

// humanize writes a number with four digits and a prefix of the SI, as Prometheus does.
func humanize(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%.4g", v)
	}
	prefix := ""
	if math.Abs(v) >= 1 {
		for _, p := range []string{"k", "M", "G", "T", "P", "E", "Z", "Y"} {
			if math.Abs(v) < 1000 {
				break
			}
			prefix, v = p, v/1000
		}
		return fmt.Sprintf("%.4g%s", v, prefix)
	}
	for _, p := range []string{"m", "u", "n", "p", "f", "a", "z", "y"} {
		if math.Abs(v) >= 1 {
			break
		}
		prefix, v = p, v*1000
	}
	return fmt.Sprintf("%.4g%s", v, prefix)
}

func humanizePercentage(v float64) string { return fmt.Sprintf("%.4g%%", v*100) }

// humanizeDuration writes seconds as days, hours, minutes and seconds.
func humanizeDuration(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%.4g", v)
	}
	if math.Abs(v) < 1 {
		return humanize(v) + "s"
	}
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	if v < 60 {
		return sign + strconv.FormatFloat(v, 'g', 4, 64) + "s"
	}
	total := time.Duration(v) * time.Second
	days, hours := total/(24*time.Hour), total/time.Hour%24
	minutes, secs := total/time.Minute%60, total/time.Second%60
	switch {
	case days > 0:
		return fmt.Sprintf("%s%dd %dh %dm %ds", sign, days, hours, minutes, secs)
	case hours > 0:
		return fmt.Sprintf("%s%dh %dm %ds", sign, hours, minutes, secs)
	default:
		return fmt.Sprintf("%s%dm %ds", sign, minutes, secs)
	}
}
