package templates

import "slices"

// SchedulersPage lists the schedulers of one queue, or of all.
type SchedulersPage struct {
	// Crumbs lead to a queue's list; the list of all queues has none.
	Crumbs     []Crumb
	Title, Say string
	// Links open forms.
	Links  []Act
	Groups []SchedulerGroup
	Empty  *EmptyState
	Pager  *Pager
	Aged   bool
}

// SchedulerGroup is the schedulers of one queue; it has no Name where the whole page is about that queue.
type SchedulerGroup struct {
	Name, URL, Note string
	Rows            []SchedulerRow
	// Trouble takes the place of rows that could not be read.
	Trouble *Notice
}

// SchedulerRow is one scheduler of a list.
type SchedulerRow struct {
	Key, URL string
	// Job is the name of its jobs, "" if that is the key.
	Job    string
	Badges []BadgeView
	// Rhythm is in words; Rule is as stored, with its zone; Bounds say when it begins and ends.
	Rhythm, Rule, Zone, Bounds string
	Last                       SchedulerRun
	Next                       SchedulerRun
	// Count is how many firings there were, of how many.
	Count string
	Acts  []Act
	// Firings and Template unfold; Away is said where the template is on the scheduler's own page only.
	Firings  Firings
	Template Payload
	Away     string
}

// SchedulerRun is a firing: when, what became of it, and its job.
type SchedulerRun struct {
	When  When
	State *State
	URL   string
	// Note says what there is to say instead of a time; Why marks it as a reason to look.
	Note string
	Why  bool
}

// Firings are the next times of a scheduler, on its own clock and on the reader's.
type Firings struct {
	// Zone is the scheduler's; Own is the reader's, "" if that is the same.
	Zone, Own string
	Rows      []Firing
	// None stands there when nothing will fire.
	None string
}

// Firing is one time: Clock is in the scheduler's zone, Own in the reader's, At relative.
type Firing struct {
	Clock   string
	Own, At When
}

// SchedulerPage is one scheduler with everything known about it.
type SchedulerPage struct {
	Crumbs       []Crumb
	State        State
	Key          string
	Badges       []BadgeView
	Finding, Say string
	Acts         []Act
	Links        []Act
	Firings      Firings
	Template     []Payload
	Facts        []Fact
	Raw          []RawField
	// RawKey is the record's key in Redis.
	RawKey string
}

// hasSchedulers reports whether any group has rows.
func hasSchedulers(groups []SchedulerGroup) bool {
	return slices.ContainsFunc(groups, func(g SchedulerGroup) bool { return len(g.Rows) > 0 })
}
