package templates

// State is how a job state looks: glyph, word and colour. Parts read the colour through the class.
type State struct {
	// Name is BullMQ's name of the state, as in addresses.
	Name  string
	Label string
	// Short is the label of a column head.
	Short string
	Class string
	Icon  string
}

// StateOf returns the looks of a state; one this program does not know is shown as unknown.
func StateOf(name string) State {
	switch name {
	case "waiting":
		return State{name, "Waiting", "Waiting", "s-waiting", "s-waiting"}
	case "prioritized":
		return State{name, "Prioritized", "Prio", "s-prioritized", "s-prioritized"}
	case "active":
		return State{name, "Active", "Active", "s-active", "s-active"}
	case "delayed":
		return State{name, "Delayed", "Delayed", "s-delayed", "s-delayed"}
	case "waiting-children":
		return State{name, "Waiting for children", "Children", "s-children", "s-children"}
	case "completed":
		return State{name, "Completed", "Completed", "s-completed", "s-completed"}
	case "failed":
		return State{name, "Failed", "Failed", "s-failed", "s-failed"}
	case "paused":
		return State{name, "Paused", "Paused", "s-paused", "s-paused"}
	}
	return State{name, "Unknown", "Unknown", "s-paused", "h-unknown"}
}

// Health is how a verdict on a queue looks.
type Health struct{ Label, Class, Icon string }
