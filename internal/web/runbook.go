package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"bullpen/docs/runbooks"
	"bullpen/templates"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// runbookPage shows what an alert means and what to do about it, and whether it fires now.
func (s *Server) runbookPage(_ context.Context, r viewRequest) (view, error) {
	name := r.params["alert"]
	source, ok := runbooks.Page(name)
	if !ok {
		p := problem(http.StatusNotFound, "No such runbook", "There is no page named %s. The alerts page leads to all of them.", clip(name, 100))
		p.Links = []templates.Link{{Label: "Alerts", URL: s.links.to("/alerts")}}
		return view{}, p
	}
	title, html, err := s.runbook(source)
	if err != nil {
		return view{}, err
	}
	v := templates.RunbookPage{
		Crumbs: []templates.Crumb{{Label: "Alerts", URL: s.links.to("/alerts")}, {Label: title}},
		Title:  title, HTML: html, Aged: s.stale(r.snap, r.now),
	}
	for _, f := range s.alertFindings(r) {
		if f.rule.Runbook == strings.TrimSuffix(name, ".md") {
			v.Rules = append(v.Rules, f.row)
		}
	}
	return view{title: title, nav: "/alerts", content: templates.RunbookView(v), live: []region{{"rules", templates.RunbookRules(v)}}}, nil
}

// runbook turns a page into its title and the markup of the rest. Raw HTML is left out by the renderer, and so are
// addresses that run something; links between pages, which are files in the project, become addresses here.
func (s *Server) runbook(source string) (title, html string, err error) {
	md, raw := goldmark.New(), []byte(source)
	doc := md.Parser().Parse(text.NewReader(raw))
	if h, ok := doc.FirstChild().(*ast.Heading); ok && h.Level == 1 {
		title = string(h.Lines().Value(raw))
		doc.RemoveChild(doc, h)
	}
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering {
			if page, file := strings.CutSuffix(string(l.Destination), ".md"); file {
				l.Destination = []byte(s.links.to("/runbooks/" + page))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", "", fmt.Errorf("read runbook: %w", err)
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, raw, doc); err != nil {
		return "", "", fmt.Errorf("render runbook: %w", err)
	}
	return title, b.String(), nil
}

// runbookLink leads to a runbook under its title.
func (s *Server) runbookLink(name string) templates.Link {
	source, _ := runbooks.Page(name)
	line, _, _ := strings.Cut(source, "\n")
	return templates.Link{Label: strings.TrimPrefix(line, "# "), URL: s.links.to("/runbooks/" + name)}
}
