package templates

// FailuresPage is the failed jobs of all queues, by kind.
type FailuresPage struct {
	// Title is the finding, Finding a sentence in bold, Say goes on.
	Title, Finding, Say string
	// Views lead from failed jobs to dead letters and back.
	Views  []GroupingView
	Filter FailureFilter
	Shares *Shares
	Heads  []Head
	Groups []FailureRow
	Empty  *EmptyState
	Pager  *Pager
	// Troubles are queues that could not be read, Note says what was counted.
	Troubles []Notice
	Note     string
}

// GroupingView is a sort of jobs that can be grouped; Current is the one shown.
type GroupingView struct {
	Label, URL string
	Current    bool
}

// FailureFilter narrows and orders the groups.
type FailureFilter struct {
	URL, Query   string
	Within, Sort []Option
}

// Shares draws how the groups divide the failed jobs.
type Shares struct {
	Says  string
	Parts []ShareBar
	Marks []ShareMark
	// Legend takes the place of the marks on small screens.
	Legend []ShareMark
}

// ShareBar is a part of the bar; X and Width are percentages as text.
type ShareBar struct{ Class, X, Width string }

// ShareMark is a percentage and what it is of.
type ShareMark struct{ X, Percent, Text string }

// FailureRow is one group.
type FailureRow struct {
	// ID names the group; it is made of letters and digits.
	ID    string
	Count string
	Error []ErrorPart
	// Sample is the whole error of one job, URL leads to the jobs.
	Sample, URL string
	Badges      []BadgeView
	Name        string
	Queues      []Link
	// More counts the queues that are not named.
	More        string
	Trend, Says string // path data of 24 bars, and what they show
	First, Last When
	// Act is the act that suits the group; Running takes its place while one is under way.
	Act     *Act
	Running *RunningAct
	Menu    []Act
}

// ErrorPart is text, or a mark for what was folded.
type ErrorPart struct{ Text, Mark string }

// RunningAct is an operation under way on a group.
type RunningAct struct {
	Text, URL  string
	Value, Max int64
}
