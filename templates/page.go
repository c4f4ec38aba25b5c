package templates

// Page is what the frame around every page shows.
type Page struct {
	// Title stands before " · Bullpen" in the browser's tab.
	Title string
	// Base is the path the dashboard is mounted under, without a slash at its end: "" or "/ops/queues".
	Base string
	// Style, Script and Icon are the addresses of the embedded files.
	Style, Script, Icon string
	// Where names the Redis and the prefix: "default, bull".
	Where string
	Nav   []NavLink
	// Find is the address of the search page, "" when there is none; Query is what was searched for.
	Find, Query string
	// Topic is the address of this view as the event stream knows it, "" when nothing on the page is live.
	Topic  string
	Status Status
	// Flash is the result of the write before this page; Notices are warnings that come and go by themselves.
	Flash, Notices []Notice
	Foot           Foot
	// User is who is signed in; no name means that nobody needs to.
	User User
}

// User is who looks at the page.
type User struct {
	Name, Role string
	// SignOut is the address that ends the session, "" when there is none to end.
	SignOut string
}

// NavLink is a page in the top bar.
type NavLink struct {
	Label, URL string
	Current    bool
	// Mark is a count or sign beside the label, "" for none; Class colours it and Meaning says it in words.
	Mark, Class, Meaning string
	// Key is what follows "g" on the keyboard, "" for none.
	Key string
}

// Status is the age of the figures in the top bar.
type Status struct {
	Text  string
	Stale bool
	// At is when the figures were read (RFC 3339), Tick how often they are, in milliseconds.
	At   string
	Tick int64
}

// Notice is a sentence about what happened, with a finding in bold.
type Notice struct {
	// Class is "s-failed", "s-delayed", "s-paused" or "s-completed"; Icon is the glyph that goes with it.
	Class, Icon  string
	Strong, Text string
	// Details are further lines, such as reasons why jobs were left alone.
	Details []string
	Links   []Link
	// Alert makes a screen reader say it at once.
	Alert bool
}

// Link is a labelled address.
type Link struct {
	Label, URL string
	// Quiet draws it without a frame.
	Quiet bool
}

// Foot is the line under every page.
type Foot struct {
	Read When
	Took string
	Zone string
	// ZoneURL is where another zone is chosen; empty for those who have not signed in.
	ZoneURL string
	Version string
}

// When is a point in time as people read it.
type When struct {
	// ISO is for machines, Text is relative ("70 s ago"), Exact is what hovering shows.
	ISO, Text, Exact string
}

// Known reports whether there is a time to show.
func (w When) Known() bool { return w.ISO != "" }

// Field is a hidden value of a form.
type Field struct{ Name, Value string }

// Act is a button that sends a form: it acts at once, or opens the page that asks first.
type Act struct {
	Label string
	// Icon is a glyph's name, "" for none; Class adds to the button's look ("go", "bad", "quiet").
	Icon, Class string
	URL         string
	Fields      []Field
	// Asks says that the answer is a question's page, which a script may show as a dialog.
	Asks bool
	// Leaves says that the page it is on has nothing to show afterwards, so the browser follows the answer.
	Leaves bool
	// About completes the label for screen readers: "Retry" + " 1842113".
	About string
	// Key is the letter that presses it, "" for none.
	Key string
	// Disabled greys it out; Why says the reason on hover.
	Disabled bool
	Why      string
	// Note is a second line, used in menus.
	Note string
}

// Crumb is a step of the path to a page; the last has no URL.
type Crumb struct{ Label, URL string }
