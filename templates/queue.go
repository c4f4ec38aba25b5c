package templates

// QueuePage is the page of one queue.
type QueuePage struct {
	Crumbs []Crumb
	Name   string
	Health Health
	Badges []BadgeView
	// Finding is the reason for the verdict, in bold; Say goes on.
	Finding, Say string
	// Acts are the buttons of the head, Links open forms, Menu has what is rarely done.
	Acts  []Act
	Links []Act
	Menu  []Act
	Facts []Fact
	Plots []Plot
	Tabs  []Tab
	List  JobList
	Aged  bool
}

// Fact is one line of the policy summary.
type Fact struct {
	Class, Label, Value, Small, URL string
	Meter                           *Meter
	// Last puts it at the far end.
	Last bool
}

// Tab is a state with the number of jobs in it.
type Tab struct {
	State      State
	URL, Count string
	Current    bool
	Key        string
}

// JobList is a page of the jobs in one state.
type JobList struct {
	State State
	// Caption describes the table for screen readers.
	Caption string
	// Order says the order in words, ReverseURL turns it round.
	Order, ReverseURL string
	// All are acts on every job of the state, or on every one that matches the filter.
	All    []Act
	Filter *FilterBar
	// ExportURL downloads the jobs of the list, "" where that cannot be done.
	ExportURL string
	// Progress says how far the search for jobs that match came.
	Progress *ScanProgress
	Heads    []Head
	Rows     []JobRow
	// Fields are what every act on ticked jobs sends along; Bulk are those acts.
	Fields []Field
	Bulk   []Act
	// UntickURL is this view with nothing ticked.
	UntickURL string
	// Columns says which optional columns there are.
	Columns JobColumns
	Empty   *EmptyState
	Pager   *Pager
	// Trouble takes the place of rows that could not be read.
	Trouble *Notice
}

// JobColumns are the labels of the columns that differ from state to state; "" leaves a column out.
type JobColumns struct{ Run, Text string }

// JobRow is one job of a list.
type JobRow struct {
	// ID is what forms send, Shown what people read.
	ID, Shown, URL string
	// Gone says the job's record is missing.
	Gone     bool
	Name     string
	When     When
	Attempts string
	Run      string
	Text     string
	Badges   []BadgeView
	Size     string
	Big      bool
	Act      *Act
}
