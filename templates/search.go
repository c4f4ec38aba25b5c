package templates

// SearchPage is what a search over all queues found.
type SearchPage struct {
	// Title is the finding, Say goes on: what was looked at.
	Title, Say string
	Filter     FilterBar
	Groups     []FoundGroup
	Progress   *ScanProgress
	// Empty takes the place of the table.
	Empty *EmptyState
	// Troubles are lists that could not be read.
	Troubles []Notice
	// Help explains the language; each line is an example and what it means.
	Help []Example
	// HelpOpen shows it at once.
	HelpOpen bool
}

// FoundGroup is what was found in one queue.
type FoundGroup struct {
	Queue, URL string
	Rows       []FoundRow
}

// FoundRow is a job that was found.
type FoundRow struct {
	ID, URL  string
	State    State
	Name     string
	When     When
	Attempts string
	Text     string
	Gone     bool
}

// Example is a piece of the query language.
type Example struct{ Code, Means string }

// FilterBar narrows a list by a query.
type FilterBar struct {
	// Label names the form for screen readers, Hint is what the field suggests, Verb stands on the button.
	Label, Hint, Verb string
	URL               string
	// Fields keep the rest of the address.
	Fields []Field
	// Chips are the terms in force; their text is sent along with what is typed.
	Chips []Chip
	// Query is the text of those terms, Input what stands in the field.
	Query, Input string
	// Problem says why Input cannot be read.
	Problem string
}

// Chip is a term that can be dropped.
type Chip struct{ Key, Value, DropURL string }

// ScanProgress says how far a bounded search came and leads on.
type ScanProgress struct {
	Text       string
	Value, Max int64
	// GoOnURL continues; "" when everything was looked at.
	GoOnURL string
	// Auto lets the script go on by itself.
	Auto bool
}
