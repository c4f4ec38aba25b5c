package templates

// Ask is a question before a write, sized to the danger: a confirmation or a form.
type Ask struct {
	// ID names the dialog's title for screen readers.
	Title string
	Body  []string
	// Warning is a sentence in bold.
	Warning string
	Samples []Sample
	LeftOut []Sample
	// Lists are further lists under titles of their own; their texts wrap.
	Lists []AskList
	// Firings are the times that a schedule would lead to.
	Firings *Firings
	// Note stands before the buttons' line: what it means for the queue.
	Note string
	// Hint stands beside the buttons.
	Hint string
	// Type must be typed to go on; Mistyped says that something else was.
	Type     string
	Mistyped bool
	// Final draws it as something that cannot be undone; Grave adds the red edge; Big widens it.
	Final, Grave, Big bool
	URL               string
	Fields            []Field
	Inputs            []Input
	Yes, No           string
	// NoURL is where "no" goes without a script.
	NoURL string
	// Problem is what was wrong with the form as a whole.
	Problem string
	// Plain sends the form as browsers do, without the script.
	Plain bool
	// Unconfirmed leaves out the answer: sending the form leads to the next question.
	Unconfirmed bool
}

// AskList is a list under a title.
type AskList struct {
	Title string
	Items []Sample
}

// Sample is a line of a list: an id, words, and a figure or time at its end.
type Sample struct {
	ID, Text, End string
}

// Input is a field of a form. Kind is "text", "number", "area", "select" or "check".
type Input struct {
	Kind, Name, Label, Value, Help, Problem, Placeholder string
	Options                                              []Option
	Required, Checked, Mono                              bool
	Width                                                string
}

// Describe is the id of the text that explains the field.
func (i Input) Describe() string { return "in-" + i.Name + "-h" }
