package templates

// PolicyPage is the policy of a queue against what is really happening.
type PolicyPage struct {
	Crumbs []Crumb
	Health Health
	// Title is the finding; Say explains it, Strong is the heart of it and More goes on.
	Title, Say, Strong, More string
	Acts                     []Act
	Proposal                 *Proposal
	// Trouble takes the place of what could not be read.
	Trouble  *Notice
	Rates    Rates
	Helps    Helps
	Budget   Budget
	Ceiling  Ceiling
	Limiter  *Plot // nil without a limiter
	Settings []PolicySetting
	// Warnings are what the policy cannot hold, Drift where replicas act by different policies.
	Warnings []PolicyWarning
	Fleet    Fleet
	Sizing   Sizing
	History  History
}

// Proposal is a change that waits for a decision.
type Proposal struct {
	Title, Why string
	By         string
	When       When
	Changes    []PolicyChange
	// Effects are what it means, as label and words.
	Effects []Detail
	Acts    []Act
	// Note says who may decide.
	Note string
}

// PolicyChange is a setting before and after.
type PolicyChange struct{ Field, Before, After string }

// Rates are bars over one axis. Lengths are percentages as SVG writes them.
type Rates struct {
	// Axis says what the dashed line is, Mark is where it stands; "" without a limiter.
	Axis, Mark string
	Rows       []RateRow
	// Note takes the place of the rows.
	Note string
}

// RateRow is one rate.
type RateRow struct {
	Label, Value, From string
	Bars               []RateBar
}

// RateBar is a piece of a bar; Open draws its outline only.
type RateBar struct {
	Class, X, Width string
	Open            bool
}

// Helps compares what would be if something changed.
type Helps struct {
	// Backlog heads the last column.
	Backlog string
	Rows    []Help
	Note    string
}

// Help is what would be after one change.
type Help struct {
	Class, Change, Sub string
	Starts             string
	// Bar is how much is in flight, Mark where the ceiling is; "" when unknown.
	Bar, Mark         string
	InFlight, Ceiling string
	UsedUp, Outcome   string
}

// Budget is what the retries of the policy can take.
type Budget struct {
	Strong, Text string
	Facts        []Fact
	Windows      *Windows // nil with one attempt
}

// Windows show when the attempts of a job start.
type Windows struct {
	Title, Story string
	Bars         []WindowBar
	Ticks        []PlotTick
}

// WindowBar is the span in which an attempt starts.
type WindowBar struct{ X, Width, Label, LabelX, Anchor string }

// Ceiling is how many jobs can run at once, as an equation, and what is needed.
type Ceiling struct {
	Sum   []Term
	Slots *Slots
	Meter *Meter
	Notes []string
	// Need is the second equation; Spare says how it compares.
	Need  []Term
	Spare string
}

// Term is a part of an equation: a number and its word, after a sign.
type Term struct{ Sign, Number, Word string }

// Slots are the places of the ceiling, drawn one by one.
type Slots struct {
	ViewBox, Story string
	Places         []Slot
}

// Slot is one place.
type Slot struct {
	X     string
	Taken bool
}

// PolicySetting is a field of the policy that is in force.
type PolicySetting struct {
	Field, Value, Source string
	// Other is what else is said: the file's value that a live one beats.
	Other string
	Class string
}

// PolicyWarning is something the policy cannot hold.
type PolicyWarning struct{ Field, Text string }

// Fleet lists the workers and by which policy each acts.
type Fleet struct {
	Rows []FleetRow
	// Drift says where they differ, "" when they agree.
	Drift string
	Note  string
}

// FleetRow is a worker.
type FleetRow struct {
	Name, Where, Concurrency, Revision, File string
	Class                                    string
}

// Sizing is the calculator.
type Sizing struct {
	URL     string
	Fields  []Field
	Inputs  []Input
	Results []Detail
	// Why explains the results, a paragraph each.
	Why []string
	// Propose leads to the form with these values; nil when it cannot.
	Propose *Act
	Note    string
}

// History lists what was decided.
type History struct {
	Rows []HistoryRow
	Note string
}

// HistoryRow is a decided proposal.
type HistoryRow struct {
	Class, Icon, Title string
	When               When
	By, Why            string
	Changes            []PolicyChange
	Act                *Act
}
