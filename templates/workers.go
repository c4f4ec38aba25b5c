package templates

// WorkersPage is who takes jobs, by queue.
type WorkersPage struct {
	Title, Say string
	Query, URL string // of the filter
	// Unknown says why workers cannot be listed.
	Unknown *Notice
	Groups  []WorkerGroup
	Empty   *EmptyState
	Pager   *Pager
	Aged    bool
}

// WorkerGroup is the workers of a queue.
type WorkerGroup struct {
	Name, URL, Note string
	Rows            []WorkerRow
}

// WorkerRow is one worker. What is not known is a dash.
type WorkerRow struct {
	ID     string // tells it from the others
	Name   string
	Kind   string // whose it is: "Bullpen" or "BullMQ"
	Badges []BadgeView
	// Where is its host and process, or its address.
	Where               string
	Connected, Idle     string
	Active, Concurrency string
	Longest             string
	// Version is Bullpen's, Policy the hash of the policy it acts by.
	Version, Policy string
}
