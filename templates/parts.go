package templates

// EmptyState takes the place of a list that has nothing.
type EmptyState struct {
	Title, Text string
	Links       []Link
}

// Pager leads through the pages of a list. An empty address means there is no such page.
type Pager struct {
	// Label names the navigation for screen readers, Text says what is shown: "1–20 of 1,904".
	Label, Text        string
	PrevURL, PrevLabel string
	NextURL, NextLabel string
}
