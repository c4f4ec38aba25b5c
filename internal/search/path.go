package search

import (
	"encoding/json"
	"strconv"
	"strings"
)

// step is one part of a path into a JSON text.
type step struct {
	name  string // of a member
	index int    // of an element, when name is not set
	any   bool   // [*]: every element
	isKey bool
}

// splitPath cuts a key such as data.a[0]."odd name" into its word and the path after it.
func splitPath(text string) (word string, path []step, problem string) {
	n := 0
	for n < len(text) && isLetter(text[n]) {
		n++
	}
	word, text = text[:n], text[n:]
	for text != "" {
		var s step
		var rest string
		var ok bool
		switch text[0] {
		case '.':
			s, rest, ok = memberStep(text[1:])
		case '[':
			s, rest, ok = elementStep(text[1:])
		default:
			return word + text, nil, ""
		}
		if !ok {
			return word, nil, "the path ends wrongly at " + text + "; write it as data.a.b[0]"
		}
		path, text = append(path, s), rest
	}
	return word, path, ""
}

func memberStep(text string) (s step, rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		end := quotedEnd(text)
		if end == 0 || json.Unmarshal([]byte(text[:end]), &s.name) != nil {
			return s, "", false
		}
		s.isKey = true
		return s, text[end:], true
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	return step{name: text[:end], isKey: true}, text[end:], end > 0
}

func elementStep(text string) (s step, rest string, ok bool) {
	inner, rest, ok := strings.Cut(text, "]")
	if inner == "*" {
		return step{any: true}, rest, ok
	}
	n, err := strconv.Atoi(inner)
	return step{index: n}, rest, ok && err == nil && n >= 0 && isDigits(inner)
}

// walker visits values of a valid JSON text.
type walker struct {
	raw []byte
	// visit gets a value as written and says whether to stop.
	visit func(value []byte) bool
	// masked members are not entered; nil enters all.
	masked func(name string) bool
}

// at visits the values at a path below the value that starts at i, and returns where that one ends. An empty path is
// the value itself.
func (w *walker) at(i int, path []step) (end int, stop bool) {
	i = w.skip(i)
	if len(path) == 0 {
		end = w.valueEnd(i)
		return end, w.visit(w.raw[i:end])
	}
	if c := w.raw[i]; c == '{' && path[0].isKey || c == '[' && !path[0].isKey {
		return w.each(i, func(name string, index int, at int) (int, bool) {
			if path[0].isKey && name == path[0].name || !path[0].isKey && (path[0].any || index == path[0].index) {
				return w.at(at, path[1:])
			}
			return w.valueEnd(at), false
		})
	}
	return w.valueEnd(i), false
}

// all visits every value that is not a container, however deep, but for masked ones.
func (w *walker) all(i int) (end int, stop bool) {
	i = w.skip(i)
	switch w.raw[i] {
	case '{':
		return w.each(i, func(name string, _, at int) (int, bool) {
			if w.masked != nil && w.masked(name) {
				return w.valueEnd(at), false
			}
			return w.all(at)
		})
	case '[':
		return w.each(i, func(_ string, _, at int) (int, bool) { return w.all(at) })
	}
	end = w.valueEnd(i)
	return end, w.visit(w.raw[i:end])
}

// each calls f with the name or index and the start of every value of the container at i. f returns where the value ends.
func (w *walker) each(i int, f func(name string, index, at int) (end int, stop bool)) (end int, stop bool) {
	object := w.raw[i] == '{'
	i = w.skip(i + 1)
	for index := 0; w.raw[i] != '}' && w.raw[i] != ']'; index++ {
		name := ""
		if object {
			e := w.valueEnd(i)
			name = unquote(w.raw[i:e])
			i = w.skip(w.skip(e) + 1)
		}
		e, stop := f(name, index, i)
		if stop {
			return e, true
		}
		if i = w.skip(e); w.raw[i] == ',' {
			i = w.skip(i + 1)
		}
	}
	return i + 1, false
}

func (w *walker) skip(i int) int {
	for i < len(w.raw) && (w.raw[i] == ' ' || w.raw[i] == '\t' || w.raw[i] == '\n' || w.raw[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is the index after the value that starts at i.
func (w *walker) valueEnd(i int) int {
	depth := 0
	for {
		switch w.raw[i] {
		case '"':
			for i++; w.raw[i] != '"'; i++ {
				if w.raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				break
			}
			for i < len(w.raw) && strings.IndexByte(" \t\r\n,]}", w.raw[i]) < 0 {
				i++
			}
			return i
		}
		if i++; depth == 0 {
			return i
		}
	}
}

func unquote(raw []byte) string {
	for _, c := range raw {
		if c == '\\' {
			var s string
			_ = json.Unmarshal(raw, &s) // valid, as the whole is
			return s
		}
	}
	return string(raw[1 : len(raw)-1])
}
