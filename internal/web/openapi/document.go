package openapi

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// JSON and Problem are the content types of most answers.
const (
	JSON    = "application/json"
	Problem = "application/problem+json"
)

// Field is a parameter of a path or a query, or a member of a body.
type Field struct {
	Name string
	// Type is "string", "integer", "boolean", "object", or "" for any JSON; "[]string" is a list of texts.
	Type string
	// About says what it means.
	About string
	// Required says that it must be there. Segments of a path always are.
	Required bool
	// Enum lists the only texts it may have; nil means any.
	Enum []string
}

// Answer is what may come back with a status.
type Answer struct {
	Status int
	About  string
	// Type is the content type, default JSON; Body a value of the type that is encoded, nil for text.
	Type string
	Body any
}

// Operation is one method on one path.
type Operation struct {
	// Method is "GET" or "POST"; Path has echo's form, "/queues/:queue".
	Method, Path string
	// Tag groups operations, Summary says in a sentence what it does.
	Tag, Summary string
	Query        []Field
	// Takes are the members of the JSON body; nil means there is none.
	Takes   []Field
	Answers []Answer
}

// Document is an OpenAPI 3.1 document under way.
type Document struct {
	about    map[string]any
	servers  []string
	paths    map[string]map[string]any
	segments map[string]string
	tags     []string
	types    types
}

// New begins a document. segments say what the parameters of paths mean, by name; servers are the addresses that paths
// are relative to.
func New(title, version, about string, servers []string, segments map[string]string) *Document {
	return &Document{
		about:   map[string]any{"title": title, "version": version, "description": about},
		servers: servers, paths: map[string]map[string]any{}, segments: segments, types: newTypes(),
	}
}

// segment is a parameter in echo's form of a path.
var segment = regexp.MustCompile(`:([a-z]+)`)

// PathOf is a path of echo's as the document has it.
func PathOf(path string) string { return segment.ReplaceAllString(path, "{$1}") }

// Add describes an operation.
func (d *Document) Add(o Operation) {
	path := PathOf(o.Path)
	if d.paths[path] == nil {
		d.paths[path] = map[string]any{}
		if names := segment.FindAllStringSubmatch(o.Path, -1); names != nil {
			var in []any
			for _, n := range names {
				in = append(in, parameter("path", Field{Name: n[1], Type: "string", About: d.segments[n[1]], Required: true}))
			}
			d.paths[path]["parameters"] = in
		}
	}
	op := map[string]any{"operationId": operationID(o), "summary": o.Summary, "tags": []string{o.Tag}, "responses": d.answers(o.Answers)}
	var query []any
	for _, f := range o.Query {
		query = append(query, parameter("query", f))
	}
	if query != nil {
		op["parameters"] = query
	}
	if o.Takes != nil {
		op["requestBody"] = map[string]any{"content": map[string]any{JSON: map[string]any{"schema": object(o.Takes)}}}
	}
	if !slices.Contains(d.tags, o.Tag) {
		d.tags = append(d.tags, o.Tag)
	}
	d.paths[path][strings.ToLower(o.Method)] = op
}

// operationID is "getQueuesQueueJobs" for GET /queues/:queue/jobs.
func operationID(o Operation) string {
	id := strings.ToLower(o.Method)
	for _, word := range strings.FieldsFunc(o.Path, func(r rune) bool { return strings.ContainsRune("/:.-_", r) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func (d *Document) answers(all []Answer) map[string]any {
	out := map[string]any{}
	for _, a := range all {
		kind, schema := a.Type, map[string]any{"type": "string"}
		if kind == "" {
			kind = JSON
		}
		if a.Body != nil {
			schema = d.types.of(a.Body)
		}
		status := "default"
		if a.Status != 0 {
			status = strconv.Itoa(a.Status)
		}
		answer, known := out[status].(map[string]any)
		if !known {
			answer = map[string]any{"description": a.About, "content": map[string]any{}}
			out[status] = answer
		}
		answer["content"].(map[string]any)[kind] = map[string]any{"schema": schema} //nolint:forcetypeassert // made above
	}
	return out
}

func parameter(in string, f Field) map[string]any {
	p := map[string]any{"name": f.Name, "in": in, "schema": f.schema(), "required": f.Required}
	if f.About != "" {
		p["description"] = f.About
	}
	return p
}

// object is the schema of a body that has these members and no others.
func object(fields []Field) map[string]any {
	members, required := map[string]any{}, []string{}
	for _, f := range fields {
		m := f.schema()
		if f.About != "" {
			m["description"] = f.About
		}
		members[f.Name] = m
		if f.Required {
			required = append(required, f.Name)
		}
	}
	return map[string]any{"type": "object", "properties": members, "required": required, "additionalProperties": false}
}

func (f Field) schema() map[string]any {
	s := map[string]any{}
	switch element, list := strings.CutPrefix(f.Type, "[]"); {
	case list:
		s["type"], s["items"] = "array", map[string]any{"type": element}
	case f.Type != "":
		s["type"] = f.Type
	}
	if f.Enum != nil {
		s["enum"] = f.Enum
	}
	return s
}

// MarshalJSON implements json.Marshaler. Members are sorted, so that the same table gives the same text.
func (d *Document) MarshalJSON() ([]byte, error) {
	servers := make([]map[string]string, len(d.servers))
	for i, s := range d.servers {
		servers[i] = map[string]string{"url": s}
	}
	tags := make([]map[string]string, len(d.tags))
	for i, t := range slices.Sorted(slices.Values(d.tags)) {
		tags[i] = map[string]string{"name": t}
	}
	return json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": d.about, "servers": servers, "tags": tags, "paths": d.paths,
		"components": map[string]any{
			"schemas": d.types.named,
			"securitySchemes": map[string]any{
				"token":   map[string]string{"type": "http", "scheme": "bearer"},
				"session": map[string]string{"type": "apiKey", "in": "cookie", "name": "bullpen_session"},
			},
		},
		// Without a login nothing is needed.
		"security": []map[string][]string{{"token": {}}, {"session": {}}, {}},
	})
}
