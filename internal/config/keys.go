package config

import (
	"reflect"
	"strings"
	"time"
)

// Key is one setting of bullpen.yaml, for the reference in docs/configuration.md.
type Key struct {
	// Path uses <name> for a free name and [] for the items of a list: "queues.<name>.policy.attempts".
	Path string
	// Form is what the value looks like: text, number, duration, list, …
	Form string
}

// Keys lists every key the file may have, in the order of the types.
func Keys() []Key { return appendKeys(nil, "", reflect.TypeFor[fileKeys]()) }

func appendKeys(out []Key, path string, t reflect.Type) []Key {
	for _, f := range fieldsOf(t) {
		out = appendKey(out, join(path, f.key), f.typ, f.tag)
	}
	return out
}

func appendKey(out []Key, path string, t reflect.Type, tag reflect.StructTag) []Key {
	inner := elem(t)
	switch {
	case inner.Kind() == reflect.Slice && elem(inner.Elem()).Kind() == reflect.Struct:
		return appendKeys(out, path+"[]", elem(inner.Elem()))
	case inner.Kind() == reflect.Map && inner.Elem().Kind() == reflect.Struct:
		if form := formOf(inner.Elem(), ""); form != "" {
			out = append(out, Key{path + ".<name>", form})
		}
		return appendKeys(out, path+".<name>", inner.Elem())
	}
	if form := formOf(t, tag); form != "" {
		out = append(out, Key{path, form})
	}
	return appendKeys(out, path, inner)
}

// formOf says how a value is written; "" for a plain mapping, whose keys say it.
func formOf(t reflect.Type, tag reflect.StructTag) string {
	inner := elem(t)
	form := map[reflect.Type]string{
		reflect.TypeFor[Grant]():         "viewer, operator, admin or a mapping",
		reflect.TypeFor[TLS]():           "true, false or a mapping",
		reflect.TypeFor[keepMapping]():   "number, duration, all, none or a mapping",
		reflect.TypeFor[time.Duration](): "duration",
		reflect.TypeFor[Size]():          "size",
	}[inner]
	switch {
	case form != "":
	case tag.Get("oneof") != "":
		form = strings.Join(strings.Fields(tag.Get("oneof")), ", ")
	case inner.Kind() == reflect.Slice:
		form = "list"
	case inner.Kind() == reflect.Map:
		form = "mapping"
	case inner.Kind() == reflect.Bool:
		form = "true or false"
	case inner.Kind() == reflect.Int, inner.Kind() == reflect.Int64, inner.Kind() == reflect.Float64:
		form = "number"
	case inner.Kind() == reflect.String:
		form = "text"
	}
	if strings.HasPrefix(t.Name(), "optional[") {
		return strings.TrimPrefix(form+" or none", " or ")
	}
	return form
}
