package processor

// Running is how many handlers run now.
func (p *Pool) Running() (n int) {
	for _, m := range p.members {
		n += m.worker.Running()
	}
	return n
}
