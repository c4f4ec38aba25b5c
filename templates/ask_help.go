package templates

import (
	"strings"

	"github.com/a-h/templ"
)

// attributes are those of a field that depend on its state.
func (i Input) attributes() templ.Attributes {
	a := templ.Attributes{}
	if i.Required {
		a["required"] = true
	}
	if i.Problem != "" {
		a["aria-invalid"] = "true"
	}
	if i.Problem != "" || i.Help != "" {
		a["aria-describedby"] = i.Describe()
	}
	if i.Mono {
		a["class"] = "mono"
	}
	return a
}

func sampleTitle(n int) string {
	if n >= 1 && n <= 5 {
		return [...]string{"One", "Two", "Three", "Four", "Five"}[n-1] + " of them"
	}
	return "Some of them"
}

// literalPattern is a pattern attribute that matches s only.
func literalPattern(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\^$.*+?()[]{}|/`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
