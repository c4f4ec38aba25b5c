package templates

// RedisPage is the state of the Redis behind the queues.
type RedisPage struct {
	Look Health
	// Title is the finding or the name, Say and Strong go on; Where names the server.
	Title, Say, Strong, Where string
	Notices                   []Notice
	Totals                    []Total
	Plots                     []Plot
	// Persistence and About are facts, Errors counts by code, Nodes those of a Cluster.
	Persistence, About []Detail
	Errors, Nodes      []Detail
	Aged               bool
}

// RedisMemory is the memory by queue, sampled when somebody asks.
type RedisMemory struct {
	// URL samples; Label is what its button says.
	URL, Label string
	Rows       []MemoryRow
	Note       string
	Trouble    *Notice
}

// MemoryRow is what a queue takes.
type MemoryRow struct {
	Name, URL string
	// Width is the bar's, a percentage as text.
	Width                              string
	Memory, Share, Jobs, Mean, Largest string
}
