package templates

// FlowTree is the flow a job belongs to, as far as it is drawn. It is empty for a job that belongs to none.
type FlowTree struct {
	Root *FlowNode
	// Finding says what the root waits for; its job has an address.
	Finding, FindingURL string
	// Note says what is left out; Links lead to the rest.
	Note  string
	Links []Link
	// Part is a page of the children of one kind, instead of a tree.
	Part *FlowPart
}

// FlowNode is a job of the tree.
type FlowNode struct {
	State State
	// Label is the state as the tree words it: "gone" of a record that is missing.
	Label    string
	ID, Name string
	URL      string // "" where the reader may not look, or there is nothing to see
	// Queue is where it is, if that is another queue than its parent's.
	Queue string
	// Note counts its children by how they stand.
	Note string
	// Here marks the job whose page it is, Blocking the path to what the root waits for longest.
	Here, Blocking bool
	// Hold says at the end of that path what it is: "waited for", or "holds it up" if it does not end by itself.
	Hold     string
	Children []*FlowNode
	// More leads to children that are not drawn.
	More *Link
}

// FlowPart is a page of the children of one kind.
type FlowPart struct {
	Title string
	Rows  []*FlowNode
	Links []Link
}

// Empty reports whether there is nothing to show.
func (t FlowTree) Empty() bool { return t.Root == nil && t.Part == nil && t.Note == "" }
