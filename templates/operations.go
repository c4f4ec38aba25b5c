package templates

// OperationPage is one bulk act, under way or past.
type OperationPage struct {
	Crumbs []Crumb
	Class  string
	Icon   string
	Says   string // the state in a word, for the glyph
	Title  string
	// Finding is in bold, Say goes on.
	Finding, Say string
	// Act cancels what runs, or starts again what did not come to its end; nil when there is neither.
	Act *Act
	// Max and Value fill the bar; Running draws it.
	Max, Value int64
	Percent    string
	Totals     []Total
	Pace       *Plot
	Asked      []Detail
	Refused    []RefusedRow
	AllURL     string // of every refusal as JSON lines
	AllLabel   string
	Before     []OperationRow
}

// Detail is a labelled fact with a second line.
type Detail struct{ Label, Value, URL, Small string }

// RefusedRow is a reason why jobs were left alone.
type RefusedRow struct{ Reason, Count, Which string }

// OperationList is the page of all operations.
type OperationList struct {
	Title, Say string
	Rows       []OperationRow
	Empty      *EmptyState
}

// OperationRow is one operation of a list.
type OperationRow struct {
	ID, URL      string
	Title, Queue string
	Class, Icon  string
	State        string
	Started      When
	Took         string
	Done         string
	Refused      string
	Who          string
}
