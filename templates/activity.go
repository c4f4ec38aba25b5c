package templates

// ActivityPage is what people did, newest first.
type ActivityPage struct {
	Title, Say string
	Filter     ActivityFilter
	Rows       []ActivityRow
	Empty      *EmptyState
	// Trouble takes the place of the list when it cannot be read.
	Trouble *Notice
	Pager   *Pager
}

// ActivityFilter narrows the list.
type ActivityFilter struct {
	URL, Query string
	Outcomes   []Option
}

// ActivityRow is one act, or a try that was refused.
type ActivityRow struct {
	When   When
	Who    string
	Role   string
	Action string
	// Queue and Target say on what; Jobs are those chosen one by one, More says how many are not named.
	Queue  *Link
	Target *Link
	Jobs   []Link
	More   string
	// Outcome is the result in a word with its look, Message in a sentence.
	Outcome Health
	Message string
	// Operation leads to the operation that went on with it.
	Operation *Link
	Remote    string
}
