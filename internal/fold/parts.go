package fold

import "strings"

// Part is a piece of a folded error: text as it stood, or a mark.
type Part struct {
	Text string
	// Mark is the mark's word, "n" of <n>; "" for text.
	Mark string
}

// Parts splits a folded error at its marks, for pages that draw them.
func Parts(folded string) []Part {
	var out []Part
	from := 0
	for i := 0; i < len(folded); {
		mark := markAt(folded[i:])
		if mark == "" {
			i++
			continue
		}
		if i > from {
			out = append(out, Part{Text: folded[from:i]})
		}
		out = append(out, Part{Mark: strings.Trim(mark, "<>")})
		i += len(mark)
		from = i
	}
	if from < len(folded) {
		out = append(out, Part{Text: folded[from:]})
	}
	return out
}

func markAt(text string) string {
	for _, mark := range [...]string{Number, Text, Addr, Email, UUID, Hex} {
		if strings.HasPrefix(text, mark) {
			return mark
		}
	}
	return ""
}
