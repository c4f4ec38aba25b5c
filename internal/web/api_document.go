package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"bullpen/internal/web/openapi"
)

// apiAbout is what the document says of the API as a whole.
const apiAbout = "Everything the dashboard's pages can do, through the same gate. Where a login is set, send a bearer token: " +
	"Authorization: Bearer TOKEN. A write without a token needs an Origin header with the dashboard's own address. " +
	"Acts that a page asks about first answer with the question and do nothing until confirm has what it wants: yes, or the queue's name. " +
	"seen is the state the caller believes in; where it is another by now, nothing is done. " +
	"Acts on many jobs run as operations. Bodies are JSON; a member that is not known is refused. Errors are RFC 9457 problem documents."

// segments are the parameters of paths.
var segments = map[string]string{
	"queue":     "its name, or prefix:name where the prefix is not the default one; bytes outside A-Z a-z 0-9 - _ . : are written ~ and two hex digits",
	"id":        "the job's id, escaped like a queue's name",
	"scheduler": "the scheduler's key, escaped like a queue's name",
	"group":     "id of the group, as the list of failures has it",
	"op":        "number of the operation",
	"alert":     "name of the runbook, as the list of alerts has it",
}

// questionJSON is what stands between a request and an act.
type questionJSON struct {
	Question string `json:"question"`
	Confirm  string `json:"confirm" doc:"what confirm must be to go on"`
	Preview  any    `json:"preview" doc:"what would be done"`
}

// gateFields are the members that every act takes.
func gateFields() []openapi.Field {
	return []openapi.Field{
		{Name: "seen", Type: "string", About: "the state the caller saw; the act is refused when it is another by now"},
		{Name: "confirm", Type: "string", About: "the answer to the question: yes, or what it says is to be typed"},
	}
}

// document describes the API.
func (s *Server) document() (json.RawMessage, error) {
	failed := openapi.Answer{About: "refused or failed", Type: openapi.Problem, Body: Problem{}}
	d := openapi.New("Bullpen", s.o.Version, apiAbout, []string{s.links.to(apiVersion)}, segments)
	for _, r := range s.apiReads() {
		answer := openapi.Answer{Status: http.StatusOK, About: "the answer", Type: r.kind, Body: r.body}
		if r.raw != nil && r.kind == openapi.JSON {
			answer.Body = json.RawMessage{}
		}
		d.Add(openapi.Operation{Method: http.MethodGet, Path: r.path, Tag: tagOf(r.path), Summary: r.about, Query: r.query, Answers: []openapi.Answer{answer, failed}})
	}
	docs := actDocs()
	for _, a := range s.acts {
		d.Add(openapi.Operation{
			Method: http.MethodPost, Path: a.Path, Tag: tagOf(a.Path), Summary: docs[a.Path].about + " Needs the role " + a.Role.String() + ".",
			Takes: slices.Concat(docs[a.Path].takes, gateFields()), Answers: []openapi.Answer{
				{Status: http.StatusOK, About: "done, or the question that comes first", Body: openapi.AnyOf{Result{}, questionJSON{}}},
				{Status: http.StatusAccepted, About: "begun as an operation", Body: Result{}},
				{Status: http.StatusConflict, About: "nothing was done", Body: Result{}},
				{Status: http.StatusConflict, About: "nothing was done", Type: openapi.Problem, Body: Problem{}},
				{Status: http.StatusUnprocessableEntity, About: "the question is still open", Body: questionJSON{}},
				{Status: http.StatusUnprocessableEntity, About: "not accepted", Type: openapi.Problem, Body: Problem{}},
				failed,
			},
		})
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("write the API's document: %w", err)
	}
	return text, nil
}

// tagOf is the first segment of a path.
func tagOf(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.TrimSuffix(first, ".json")
}

func (s *Server) apiDocument(context.Context, viewRequest) (any, error) { return s.apiText, nil }

// unknownMember refuses what an act does not take, so that a slip of the pen is not taken for a wish.
func unknownMember(act *Action, name string) error {
	doc, described := actDocs()[act.Path]
	takes := slices.Concat(doc.takes, gateFields())
	if !described || name == "back" || slices.ContainsFunc(takes, func(f openapi.Field) bool { return f.Name == name }) {
		return nil
	}
	names := make([]string, len(takes))
	for i, f := range takes {
		names[i] = f.Name
	}
	return &Problem{
		Status: http.StatusUnprocessableEntity, Title: "Not accepted", Field: name,
		Detail: fmt.Sprintf("%q is not known here; this act takes %s.", clip(name, 60), strings.Join(names, ", ")),
	}
}
