// Package runbooks holds one page for each alert, in Markdown: what it means, how to confirm it, what to do.
package runbooks

import (
	"embed"
	"strings"
)

//go:embed *.md
var files embed.FS

// Page returns the Markdown of a page, for instance "redis-memory"; false if there is none. Pages link to each other as
// files, "redis-memory.md", which is a name too.
func Page(name string) (string, bool) {
	text, err := files.ReadFile(strings.TrimSuffix(name, ".md") + ".md")
	return string(text), err == nil
}

// Names lists the pages in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // embedded: cannot fail
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".md"))
	}
	return names
}
