package operation

import (
	"cmp"
	"context"
	"slices"
	"time"
)

const (
	// reportEvery is how often a running operation is written to the book.
	reportEvery = time.Second
	// fresh is how old what was read of the book may be before it is read again, bookLimit how long one question to it
	// may take, and patience how long a caller waits for it who has nothing yet.
	fresh     = time.Second
	bookLimit = 2 * time.Second
	patience  = 500 * time.Millisecond
)

// Book keeps operations beyond this process: for other processes, and for after a restart.
type Book interface {
	// Number returns one that no other operation has.
	Number(ctx context.Context) (int64, error)
	// Write keeps how far an operation is and the items it refused from the given place on, and reports whether somebody
	// asked for its end. The same may be written again.
	Write(ctx context.Context, s Status, from int, refused []Refusal) (cancelled bool, err error)
	// Refusals returns the items that an operation refused, in their order; none when they are no longer kept.
	Refusals(ctx context.Context, id int64) ([]Refusal, error)
	// Read returns what is kept.
	Read(ctx context.Context) ([]Kept, error)
	// Cancel asks whoever runs an operation to end it.
	Cancel(ctx context.Context, id int64) error
	// End keeps the end of an operation whose process is gone; first is false when somebody else has kept it.
	End(ctx context.Context, s Status) (first bool, err error)
}

// Kept is an operation in the book.
type Kept struct {
	Status Status
	// Gone says that the process that ran it has not been heard of for a while.
	Gone bool
}

// shelf is what was last read of the book; the manager's lock guards it.
type shelf struct {
	statuses map[int64]Status
	at       time.Time     // of the last read, also of one that failed
	reading  chan struct{} // closed when the read under way ends; nil without one
	err      error
}

// keep writes a status to the book and obeys whoever asked for its end.
func (m *Manager) keep(o *Operation) {
	if m.o.Book == nil || o.unkept {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), bookLimit)
	defer cancel()
	news := o.refusedFrom(o.written)
	cancelled, err := m.o.Book.Write(ctx, o.Status(), o.written, news)
	if err != nil {
		m.o.Logger.WarnContext(ctx, "operation is not kept", "operation", o.status.ID, "err", err)
	} else {
		o.written += len(news)
	}
	if cancelled {
		o.Cancel()
	}
}

// report keeps an operation until stop is closed.
func (m *Manager) report(o *Operation, stop <-chan struct{}) {
	m.keep(o)
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.keep(o)
		case <-stop:
			return
		}
	}
}

// catchUp sees to it that the book is read again when it is time. It waits only where nothing was read yet, or when
// asked to.
func (m *Manager) catchUp(wait bool) {
	m.mu.Lock()
	sh := &m.shelf
	if m.o.Book == nil || m.closed {
		m.mu.Unlock()
		return
	}
	if sh.reading == nil && (wait || time.Since(sh.at) > fresh) {
		sh.reading = make(chan struct{})
		m.wg.Go(m.readBook)
	}
	reading, never := sh.reading, sh.at.IsZero()
	m.mu.Unlock()
	if reading == nil || !wait && !never {
		return
	}
	select {
	case <-reading:
	case <-time.After(patience):
	}
}

func (m *Manager) readBook() {
	ctx, cancel := context.WithTimeout(context.Background(), bookLimit)
	defer cancel()
	found, err := m.o.Book.Read(ctx)
	statuses := map[int64]Status{}
	for _, k := range found {
		if m.Get(k.Status.ID) != nil {
			continue // ours, and known better
		}
		statuses[k.Status.ID] = m.judged(ctx, k)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.shelf.reading)
	m.shelf.reading, m.shelf.at, m.shelf.err = nil, time.Now(), err
	if err == nil {
		m.shelf.statuses = statuses
	}
}

// judged is the status of an operation in the book: one whose process is gone has ended.
func (m *Manager) judged(ctx context.Context, k Kept) Status {
	s := k.Status
	if s.State.Ended() || !k.Gone {
		return s
	}
	s.State, s.Ended, s.Error = Interrupted, m.o.Clock(), "the Bullpen that ran it is gone"
	if first, err := m.o.Book.End(ctx, s); err == nil && first {
		m.o.Lost(s)
	}
	return s
}

// List returns the status of all operations, newest first: those of this process as they are, those of others as they
// were a moment ago.
func (m *Manager) List() []Status {
	m.catchUp(false)
	m.mu.Lock()
	all := slices.Clone(m.all)
	out := make([]Status, 0, len(all)+len(m.shelf.statuses))
	for _, s := range m.shelf.statuses {
		out = append(out, s)
	}
	m.mu.Unlock()
	for _, o := range all {
		out = append(out, o.Status())
	}
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(b.ID, a.ID) })
	return out
}

// Find returns the status of an operation, also of another process.
func (m *Manager) Find(id int64) (Status, bool) {
	if o := m.Get(id); o != nil {
		return o.Status(), true
	}
	if s, ok := m.shelved(id); ok {
		m.catchUp(false)
		return s, true
	}
	m.catchUp(true)
	return m.shelved(id)
}

// Refusals returns the items an operation left alone, also one of another process: at most the first MaxRefusals, none when
// they are no longer kept.
func (m *Manager) Refusals(ctx context.Context, id int64) ([]Refusal, error) {
	if o := m.Get(id); o != nil {
		return o.refusedFrom(0), nil
	}
	if m.o.Book == nil {
		return nil, nil
	}
	return m.o.Book.Refusals(ctx, id)
}

func (m *Manager) shelved(id int64) (Status, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.shelf.statuses[id]
	return s, ok
}

// Trouble says why the operations of other processes could not be read last time; nil when they could.
func (m *Manager) Trouble() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shelf.err
}

// Cancel ends an operation, wherever it runs, and waits for that until ctx ends. ok is false when there is none.
func (m *Manager) Cancel(ctx context.Context, id int64) (s Status, ok bool, err error) {
	if o := m.Get(id); o != nil {
		o.Cancel()
		select {
		case <-o.Over():
		case <-ctx.Done():
		}
		return o.Status(), true, ctx.Err()
	}
	if s, ok = m.Find(id); !ok || s.State.Ended() {
		return s, ok, nil
	}
	if err := m.o.Book.Cancel(ctx, id); err != nil {
		return s, true, err
	}
	for !s.State.Ended() && ctx.Err() == nil {
		wait(ctx, reportEvery/4)
		m.catchUp(true)
		s, _ = m.shelved(id)
	}
	return s, true, nil
}
