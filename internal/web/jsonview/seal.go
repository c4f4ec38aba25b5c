package jsonview

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Why a text cannot be edited, or an edited text not be accepted. Both are said to people as they are.
var (
	errNotJSON = errors.New("it is not JSON that can be edited here")
	errTooDeep = errors.New("it is too deeply nested to be edited here")
)

// maxSealed bounds the text for editing, in bytes: indentation can make much of little.
const maxSealed = 4 << 20

// Sealed is a JSON text made ready to be edited by somebody who must not see all of it.
type Sealed struct {
	// Text is indented, with a text such as "masked 1" in the place of each masked value.
	Text string

	raw    []byte
	masked func(string) bool
	values []sealedValue
}

// sealedValue is a masked value and what stands for it.
type sealedValue struct {
	mark, name string
	raw        []byte
}

// Seal prepares raw. Numbers, the order of members and duplicate names stay as they are.
func Seal(raw []byte, masked func(string) bool) (Sealed, error) {
	s := Sealed{raw: raw, masked: masked}
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return s, errNotJSON
	}
	word := MaskText
	for strings.Contains(string(raw), word+" ") {
		word += "*" // the text itself has such words
	}
	var b strings.Builder
	p := printer{raw: raw, o: Options{MaxBytes: maxSealed, Masked: masked}}
	p.onMask = func(name string, value []byte) {
		s.values = append(s.values, sealedValue{mark: word + " " + strconv.Itoa(len(s.values)+1), name: name, raw: value})
	}
	p.run()
	p.flush()
	next := 0
	for _, t := range p.out {
		if t.Kind == Mask {
			t.Text = `"` + s.values[next].mark + `"`
			next++
		}
		b.WriteString(t.Text)
	}
	if p.full {
		return s, errTooDeep
	}
	s.Text = b.String()
	return s, nil
}

// Open puts the masked values back into an edited text. A mark may stand only where its value stood: under a member of
// the same name. Nothing that was masked can so come to stand where it would be shown, and no mark is ever stored.
// Text that was not changed gives the bytes that were sealed. The error is for the person who edited.
func (s Sealed) Open(edited []byte) ([]byte, error) {
	text := strings.ReplaceAll(string(edited), "\r\n", "\n") // as browsers send it
	if text == s.Text {
		return s.raw, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, errNotJSON
	}
	if s.masked == nil {
		return []byte(text), nil
	}
	o := opener{Sealed: s, printer: printer{raw: []byte(text)}}
	return o.run()
}

// opener walks an edited text and copies it with the values in it.
type opener struct {
	Sealed
	printer
	out  []byte
	from int
}

func (o *opener) run() ([]byte, error) {
	name := "" // of the member whose value comes next, "" within an array or at the top
	for o.pos < len(o.printer.raw) {
		start := o.pos
		switch c := o.printer.raw[start]; {
		case c == '{' || c == '[':
			o.stack = append(o.stack, c)
			o.pos++
			name = ""
		case c == '}' || c == ']':
			o.stack = o.stack[:len(o.stack)-1]
			o.pos++
			name = ""
		case c == '"':
			isKey := o.isKey()
			o.pos = o.stringEnd(start)
			text := unquote(string(o.printer.raw[start:o.pos]))
			if isKey {
				name = text
				if o.marked(text) {
					return nil, fmt.Errorf("%q stands for a masked value and cannot be a name", text)
				}
				continue
			}
			if err := o.value(name, text, start); err != nil {
				return nil, err
			}
			name = ""
		default:
			o.pos++
			if c == ',' {
				name = ""
			}
		}
	}
	return append(o.out, o.printer.raw[o.from:]...), nil
}

// value looks at a text that is the value of a member, or of none, and puts a masked value in its place.
func (o *opener) value(name, text string, start int) error {
	put := func(v sealedValue) {
		o.out = append(append(o.out, o.printer.raw[o.from:start]...), v.raw...)
		o.from = o.pos
	}
	if o.marked(text) {
		i := slices.IndexFunc(o.values, func(v sealedValue) bool { return v.mark == text })
		if v := o.values[i]; v.name == name {
			put(v)
			return nil
		}
		return fmt.Errorf("%q stands for the masked value of %q and can only stay there", text, o.values[i].name)
	}
	if text != MaskText || !o.Sealed.masked(name) {
		return nil
	}
	// The word that pages and the API show for every masked value: good enough while it cannot be mistaken.
	var same []sealedValue
	for _, v := range o.values {
		if v.name == name {
			same = append(same, v)
		}
	}
	if len(same) != 1 {
		return fmt.Errorf("%q is masked, and it is not clear which value is meant; give its new value, or edit it on the job's page", name)
	}
	put(same[0])
	return nil
}

func (o *opener) marked(text string) bool {
	return slices.ContainsFunc(o.values, func(v sealedValue) bool { return v.mark == text })
}
