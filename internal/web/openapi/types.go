package openapi

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// types turns Go types into schemas; those with a name become components.
type types struct {
	named map[string]any
	names map[reflect.Type]string
}

func newTypes() types { return types{named: map[string]any{}, names: map[reflect.Type]string{}} }

// of is the schema of what encoding/json makes of a value.
func (t types) of(v any) map[string]any {
	choice, ok := v.(AnyOf)
	if !ok {
		return t.schema(reflect.TypeOf(v))
	}
	var all []map[string]any
	for _, v := range choice {
		all = append(all, t.of(v))
	}
	return map[string]any{"anyOf": all}
}

var (
	moment  = reflect.TypeFor[time.Time]()
	anyJSON = reflect.TypeFor[json.RawMessage]()
	text    = reflect.TypeFor[encoding.TextMarshaler]()
)

func (t types) schema(of reflect.Type) map[string]any {
	switch {
	case of == moment:
		return map[string]any{"type": "string", "format": "date-time"}
	case of == anyJSON:
		return map[string]any{}
	case of.Implements(text):
		return map[string]any{"type": "string"}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return t.schema(of.Elem()) // what may be nil is left out, not null
	case reflect.Struct:
		return t.reference(of)
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": t.schema(of.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": t.schema(of.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"} // the other kinds that JSON knows
}

// reference points to the component of a struct; one without a name is written out.
func (t types) reference(of reflect.Type) map[string]any {
	if of.Name() == "" {
		return t.object(of)
	}
	name, known := t.names[of]
	if !known {
		name = t.free(strings.TrimSuffix(of.Name(), "JSON"))
		t.names[of] = name
		t.named[name] = nil // taken, also while its members are looked at
		t.named[name] = t.object(of)
	}
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

// free is a name that no other type has.
func (t types) free(name string) string {
	name = strings.ToUpper(name[:1]) + name[1:]
	for {
		if _, taken := t.named[name]; !taken {
			return name
		}
		name += "2"
	}
}

// object is the schema of a struct. The tag doc says what a member means, the tag enum which texts it may have.
func (t types) object(of reflect.Type) map[string]any {
	members, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(of) {
		name, optional, ok := member(f)
		if !ok {
			continue
		}
		s := t.schema(f.Type)
		if about := f.Tag.Get("doc"); about != "" {
			s["description"] = about
		}
		if texts := f.Tag.Get("enum"); texts != "" {
			s["enum"] = strings.Split(texts, ",")
		}
		members[name] = s
		if !optional {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": members, "required": required}
}

// member is the name of a field in JSON, and whether it may be left out. ok is false for fields that are not encoded.
func member(f reflect.StructField) (name string, optional, ok bool) {
	tag := f.Tag.Get("json")
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case name == "-", !f.IsExported(), f.Anonymous && name == "":
		return "", false, false
	case name == "":
		name = f.Name
	}
	return name, strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"), true
}

// AnyOf is the body of an answer that has one of several types.
type AnyOf []any
