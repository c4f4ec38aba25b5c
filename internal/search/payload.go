package search

import (
	"encoding/json"
	"strings"

	"bullpen/internal/engine"
)

// onPayload looks into data or options: at a path, or into every value when there is none.
func onPayload(o Options, t token, path []step) (test, string) {
	word, _, _ := splitPath(t.key)
	k, _ := keyNamed(word)
	for _, s := range path {
		if o.Masked != nil && s.isKey && o.Masked(s.name) {
			return test{}, "what is masked cannot be searched: " + t.key
		}
	}
	is, problem := onValue(t)
	if problem != "" {
		return test{}, problem
	}
	if path == nil {
		return onAll(k.payload, o.Masked, partText(t)), ""
	}
	return onPath(k.payload, path, is), ""
}

// document is a payload with the names people know; nil when it is not JSON.
func document(field string, raw []byte) []byte {
	if field == "opts" {
		raw = engine.PublicOptions(raw)
	}
	if !json.Valid(raw) {
		return nil
	}
	return raw
}

func onPath(field string, path []step, is func([]byte) bool) test {
	return test{field: field, doc: func(raw []byte) bool {
		w := walker{raw: document(field, raw), visit: is}
		if w.raw == nil {
			return false
		}
		_, found := w.at(0, path)
		return found
	}}
}

func onAll(field string, masked func(string) bool, is func(string) bool) test {
	return test{field: field, doc: func(raw []byte) bool {
		w := walker{raw: document(field, raw), masked: masked, visit: func(v []byte) bool { return is(plain(v)) }}
		if w.raw == nil {
			return false
		}
		_, found := w.all(0)
		return found
	}}
}

// plain is a value without its quotation marks.
func plain(value []byte) string {
	if value[0] == '"' {
		return unquote(value)
	}
	return string(value)
}

// onValue makes the test of a value as written. In quotation marks it is a text, to the letter. Without, it is a text, a
// number of the same size, or a word such as true; with a * it is text or a number of that form, alone any value.
func onValue(t token) (func(value []byte) bool, string) {
	switch {
	case t.quoted:
		return func(v []byte) bool { return v[0] == '"' && unquote(v) == t.value }, ""
	case t.value == "*":
		return func([]byte) bool { return true }, ""
	}
	in, ok := parseInterval(t.value)
	lo, loOK := parseDecimal(in.lo)
	hi, hiOK := parseDecimal(in.hi)
	numeric := ok && (in.lo == "" || loOK) && (in.hi == "" || hiOK)
	if strings.HasPrefix(t.value, "<") || strings.HasPrefix(t.value, ">") {
		if !numeric {
			return nil, "only numbers can be compared, such as " + t.key + ":>100"
		}
	}
	if numeric && !in.single {
		return func(v []byte) bool {
			d, ok := parseDecimal(string(v))
			return ok && in.holds(lo, hi, d)
		}, ""
	}
	is := wholeText(t)
	return func(v []byte) bool {
		switch c := v[0]; {
		case c == '{' || c == '[':
			return false
		case numeric && c != '"':
			d, ok := parseDecimal(string(v))
			return ok && d.compare(lo) == 0
		}
		return is(plain(v))
	}, ""
}
