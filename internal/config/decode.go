package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// decoder matches YAML nodes with tagged types and gathers every problem it meets, with its place.
//
// Tags: key names the key; min and max bound numbers and durations (both default to "more than nothing"); oneof lists
// the accepted words; path:"file" marks a file name that is relative to the configuration file.
type decoder struct {
	file     string
	dir      string
	env      func(string) (string, bool)
	places   places
	problems []Problem
	// unclear says that the defaults could not be read, so that nothing can be said of a policy.
	unclear bool
}

// places remembers where each setting came from, by path.
type places map[string]place

type place struct {
	source string
	line   int
}

// custom is implemented by types that accept more than one form.
type custom interface {
	decode(d *decoder, n *yaml.Node, path string, tag reflect.StructTag)
}

// defaulter is implemented by structs whose fields do not all start at zero.
type defaulter interface{ setDefaults() }

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{Source: d.file, Line: n.Line, Key: path, Text: fmt.Sprintf(format, args...)})
}

// value decodes n into v.
func (d *decoder) value(n *yaml.Node, path string, v reflect.Value, tag reflect.StructTag) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.places[path] = place{d.file, n.Line}
	if c, ok := v.Addr().Interface().(custom); ok {
		c.decode(d, n, path, tag)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		d.pointer(n, path, v, tag)
	case reflect.Struct:
		d.mapping(n, path, v)
	case reflect.Map:
		d.table(n, path, v, tag)
	case reflect.Slice:
		d.list(n, path, v, tag)
	default:
		d.scalar(n, path, v, tag)
	}
}

func (d *decoder) pointer(n *yaml.Node, path string, v reflect.Value, tag reflect.StructTag) {
	fresh := reflect.New(v.Type().Elem())
	if s, ok := fresh.Interface().(defaulter); ok {
		s.setDefaults()
	}
	d.value(n, path, fresh.Elem(), tag)
	v.Set(fresh)
}

// mapping decodes into the tagged fields of a struct, in their order.
func (d *decoder) mapping(n *yaml.Node, path string, v reflect.Value) {
	fields := fieldsOf(v.Type())
	given := d.entries(n, path)
	for _, e := range given {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.key == e.key.Value }) {
			d.unknown(e.key, path, fields)
		}
	}
	for _, f := range fields {
		for _, e := range given {
			if e.key.Value == f.key {
				d.value(e.value, join(path, f.key), v.FieldByIndex(f.index), f.tag)
			}
		}
	}
}

// table decodes into a map with free names.
func (d *decoder) table(n *yaml.Node, path string, v reflect.Value, tag reflect.StructTag) {
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range d.entries(n, path) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(e.value, join(path, e.key.Value), item, tag)
		v.SetMapIndex(reflect.ValueOf(e.key.Value), item)
	}
}

func (d *decoder) list(n *yaml.Node, path string, v reflect.Value, tag reflect.StructTag) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, "needs a list, such as [a, b]")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i), tag)
	}
}

type entry struct{ key, value *yaml.Node }

// entries returns the pairs of a mapping without those whose key was there before. An empty value is an empty mapping.
func (d *decoder) entries(n *yaml.Node, path string) []entry {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "needs a mapping, such as {key: value}")
		return nil
	}
	var out []entry
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, seen := first[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.fail(key, path, "a key must be plain text")
		case key.Value == "<<" && key.Style == 0:
			d.fail(key, join(path, "<<"), "merge keys are not supported; put what queues share under defaults")
		case seen:
			d.fail(key, join(path, key.Value), "is given twice, first on line %d", line)
		default:
			first[key.Value] = key.Line
			out = append(out, entry{key, n.Content[i+1]})
		}
	}
	return out
}

// unknown reports a key that does not exist, with the nearest that does: beside it, or one level below.
func (d *decoder) unknown(key *yaml.Node, path string, fields []field) {
	var names []string
	for _, f := range fields {
		names = append(names, f.key)
	}
	best, distance := Nearest(key.Value, names)
	for _, f := range fields {
		for _, below := range fieldsOf(elem(f.typ)) {
			if below.key == key.Value && distance > 0 {
				best, distance = join(f.key, below.key), 0
			}
		}
	}
	d.fail(key, join(path, key.Value), "unknown key; the nearest known key is %q", best)
}

// field is a tagged field of a struct; embedded structs are flattened.
type field struct {
	key   string
	index []int
	typ   reflect.Type
	tag   reflect.StructTag
}

func fieldsOf(t reflect.Type) []field {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("key"); key != "" {
			out = append(out, field{key, f.Index, f.Type, f.Tag})
		}
	}
	return out
}

// elem strips pointers and the wrapper of optional values.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if o, ok := reflect.Zero(t).Interface().(interface{ inner() reflect.Type }); ok {
		return o.inner()
	}
	return t
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// scalar decodes a single value. Its text is what counts, not its YAML type, so that ${NAME} works for numbers too.
func (d *decoder) scalar(n *yaml.Node, path string, v reflect.Value, tag reflect.StructTag) {
	text, ok := d.text(n, path)
	if !ok {
		return
	}
	if err := setScalar(v, text, tag); err != nil {
		d.fail(n, path, "%v", err)
		return
	}
	if tag.Get("path") == "file" {
		v.SetString(relativeTo(d.dir, v.String()))
	}
}

// text returns the text of a scalar with ${NAME} expanded; ok is false after a problem.
func (d *decoder) text(n *yaml.Node, path string) (s string, ok bool) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.fail(n, path, "needs a single value")
		return "", false
	}
	s, err := expand(n.Value, d.env)
	if err != nil {
		d.fail(n, path, "%v", err)
		return "", false
	}
	return s, true
}

func setScalar(v reflect.Value, text string, tag reflect.StructTag) error {
	switch v.Interface().(type) {
	case time.Duration:
		dur, err := parseDuration(text)
		if err != nil {
			return err
		}
		if least, bounded := tag.Lookup("min"); dur < 0 || (dur == 0 && !(bounded && least == "0")) {
			return fmt.Errorf("%q must be a positive duration", text)
		}
		v.SetInt(int64(dur))
		return nil
	case Size:
		size, err := parseSize(text)
		v.SetInt(int64(size))
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return checkWord(text, tag.Get("oneof"))
	case reflect.Bool:
		b, err := parseBool(text)
		v.SetBool(b)
		return err
	case reflect.Int, reflect.Int64:
		i, err := parseInt(text, tag)
		v.SetInt(i)
		return err
	case reflect.Float64:
		f, err := parseFloat(text, tag)
		v.SetFloat(f)
		return err
	}
	panic("config: no decoding for " + v.Type().String())
}

func checkWord(text, oneof string) error {
	words := strings.Fields(oneof)
	if len(words) == 0 || slices.Contains(words, text) {
		return nil
	}
	return fmt.Errorf("%s is not one of %s", strconv.Quote(text), strings.Join(words, ", "))
}
