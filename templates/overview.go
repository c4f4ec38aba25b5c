package templates

// Overview is the page of all queues.
type Overview struct {
	// Title is the finding: "2 of 14 queues need attention". Say counts the rest.
	Title, Say string
	Filter     QueueFilter
	// Worst is about the queue that needs attention most, nil when none does.
	Worst  *Notice
	Totals []Total
	Heads  []Head
	Groups []QueueGroup
	// Empty takes the place of the table.
	Empty *EmptyState
	Pager *Pager
	// Aged draws figures back because they are old.
	Aged bool
}

// QueueFilter is the form that narrows and orders the overview.
type QueueFilter struct {
	URL, Query string
	Sorts      []Option
	// Group is the label of the switch, Grouped its state.
	Group   string
	Grouped bool
}

// Option is a choice of a select.
type Option struct {
	Value, Label string
	Chosen       bool
}

// Total is a figure of the strip on top.
type Total struct {
	// State gives the label its glyph; without a name only Label is shown.
	State State
	Label string
	// Figure is the number with its units.
	Figure []Part
	Notes  []string
	// Line and Area draw the last hour; "" when it is not known.
	Line, Area string
}

// Part is a piece of a figure; units are small.
type Part struct {
	Text  string
	Small bool
}

// Head is the head of a column. An empty URL means it cannot be ordered by.
type Head struct {
	Label string
	State State
	URL   string
	// Sorted is "ascending", "descending" or "".
	Sorted string
	Class  string
}

// QueueGroup is a part of the table with a head of its own.
type QueueGroup struct {
	Label, Count string
	Rows         []QueueRow
}

// QueueRow is one queue of the table.
type QueueRow struct {
	Name, URL string
	Health    Health
	Badges    []BadgeView
	Reason    string
	Spark     Spark
	Cells     []Cell
}

// BadgeView is a badge's look and word.
type BadgeView struct{ Class, Icon, Label string }

// Spark is a small bar chart of an hour.
type Spark struct{ Good, Bad, Says string }

// Cell is a figure in a row.
type Cell struct {
	// Label names the figure where the row is a card.
	Label string
	Text  string
	// Of completes it: "/ 20".
	Of string
	// Class has the column's "p1" and so on; Zero fades it, Why says it is the reason for the row's verdict.
	Class     string
	Zero, Why bool
	URL       string
	Meter     *Meter
}

// Meter is a bar beside a figure.
type Meter struct {
	Class      string
	Value, Max int64
}
