package notify

import (
	"bytes"
	"context"
	crypto "crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor/alerting"

	"github.com/redis/go-redis/v9"
)

// Options configure New.
type Options struct {
	// URL is where messages are posted. It may hold a secret, so it is never logged. Required.
	URL string
	// Alerts is the state of every rule now. Required.
	Alerts func() []alerting.Status
	// Client is the Redis that keeps what was told. Required unless ReadOnly.
	Client redis.UniversalClient
	// Alias names that Redis; installations that share one database under different aliases do not share what was told.
	Alias string
	// Base is where the dashboard is, without a slash at the end; links lead there.
	Base string
	// ReadOnly keeps what was told in memory: this process then sends whatever others do.
	ReadOnly bool
	Logger   *slog.Logger     // default: nothing is logged
	Clock    func() time.Time // default time.Now
	pace     pace             // set by tests
}

// pace is how often things are done.
type pace struct {
	step        time.Duration // between two looks at the alerts
	lease       time.Duration // how long a turn to send lasts
	send        time.Duration // how long the receiver may take
	first, most time.Duration // pauses after failures: the first one, doubled each time, up to the most
}

func usualPace() pace {
	return pace{step: 5 * time.Second, lease: 30 * time.Second, send: 5 * time.Second, first: 5 * time.Second, most: 5 * time.Minute}
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.pace == (pace{}) {
		o.pace = usualPace()
	}
	return o
}

// Notifier sends. One goroutine does it all between Start and Stop.
type Notifier struct {
	o      Options
	log    *slog.Logger
	record record
	http   *http.Client

	told     told      // as far as this process knows; nil unless it is its turn
	unsaved  told      // told, but not noted because Redis did not answer
	contact  time.Time // since when Redis answers every time; zero while it does not
	failures map[group]failure

	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	status Status
}

// failure says when a group is tried again.
type failure struct {
	count int
	again time.Time
}

// Status is how sending goes.
type Status struct {
	// Sending says that it is this process's turn.
	Sending bool
	// Err is why the last message was not taken, "" when it was.
	Err string
	// LastSent is when the last message was taken; zero when none was.
	LastSent time.Time
}

// New validates o. It sends nothing.
func New(o Options) (*Notifier, error) {
	o = o.withDefaults()
	if o.Alerts == nil || o.Client == nil && !o.ReadOnly {
		return nil, errors.New("notify: Alerts and Client are required")
	}
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" {
		return nil, errors.New("notify: URL must be an http or https address")
	}
	n := &Notifier{
		o: o, log: o.Logger.With("component", "notify"), unsaved: told{}, failures: map[group]failure{},
		http: &http.Client{
			Timeout: o.pace.send,
			// A receiver that moved is to be configured anew: an alert goes where the operator said and nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	n.record = &memoryRecord{told{}}
	if !o.ReadOnly {
		n.record = newRedisRecord(o.Client, keys.Own+"notify:"+o.Alias, crypto.Text(), o.pace.lease)
	}
	return n, nil
}

// Start begins and returns at once.
func (n *Notifier) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.done.Go(func() {
		ticker := time.NewTicker(n.o.pace.step)
		defer ticker.Stop()
		for ctx.Err() == nil {
			n.step(ctx)
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
}

// Stop ends it, once a message under way is answered, and gives the turn to another replica. Without Start it does
// nothing.
func (n *Notifier) Stop() {
	if n.cancel == nil {
		return
	}
	n.cancel()
	n.done.Wait()
	n.http.CloseIdleConnections()
	if n.told == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := n.record.release(ctx); err != nil {
		n.log.Warn("another replica sends only after a while", "err", err)
	}
}

// Status returns how sending goes.
func (n *Notifier) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.status
}

func (n *Notifier) note(change func(*Status)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.status)
}

// step looks at the alerts and sends what is to be told, if it is this process's turn.
func (n *Notifier) step(ctx context.Context) {
	if !n.hold(ctx) {
		return
	}
	v := look(n.o.Alerts(), n.o.Base)
	for _, g := range n.due(v.changes(n.told)) {
		// Again before each message, because the last one may have taken long.
		if ctx.Err() != nil || !n.hold(ctx) {
			return
		}
		changes := n.of(g, v.changes(n.told))
		if len(changes) > 0 && !n.tell(ctx, g, changes) {
			return
		}
	}
}

// hold reports whether it is this process's turn. When Redis does not answer, it is if it was: nobody else can take it,
// and that Redis is away has to be told.
func (n *Notifier) hold(ctx context.Context) bool {
	// Whoever had the turn before Redis went away comes first: it alone knows what it told meanwhile. So the turn of
	// another one is only taken by who saw Redis for long enough.
	seen := !n.contact.IsZero() && n.o.Clock().Sub(n.contact) > n.o.pace.lease
	t, mine, err := n.record.hold(ctx, seen)
	if err != nil {
		n.contact = time.Time{}
		return n.told != nil && ctx.Err() == nil
	}
	if n.contact.IsZero() {
		n.contact = n.o.Clock()
	}
	n.told = nil
	if mine {
		n.told = t
		n.flush(ctx)
	} else {
		clear(n.unsaved)
		clear(n.failures)
	}
	n.note(func(s *Status) { s.Sending = n.told != nil })
	return n.told != nil
}

// flush notes what could not be noted before.
func (n *Notifier) flush(ctx context.Context) {
	if len(n.unsaved) == 0 {
		return
	}
	merge(n.told, n.unsaved)
	if err := n.record.save(ctx, n.unsaved); err == nil {
		clear(n.unsaved)
	}
}

// due lists the groups with changes, but for those whose last message was not taken a short while ago.
func (n *Notifier) due(changes told) []group {
	var out []group
	for id, a := range changes {
		if a.ended() {
			a = n.told[id]
		}
		if g := groupOf(a); !slices.Contains(out, g) && !n.o.Clock().Before(n.failures[g].again) {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, compareGroups)
	return out
}

// of are the changes of one group.
func (n *Notifier) of(g group, changes told) told {
	out := told{}
	for id, a := range changes {
		if !a.ended() && groupOf(a) == g || a.ended() && groupOf(n.told[id]) == g {
			out[id] = a
		}
	}
	return out
}

// tell sends a message and notes what it told; false if the receiver cannot be reached.
func (n *Notifier) tell(ctx context.Context, g group, changes told) bool {
	body, key, err := compose(g, n.told, changes, n.o.Base, n.o.Clock()).body()
	if err == nil {
		err = n.post(ctx, body, key)
	}
	if err != nil {
		return n.failed(g, err)
	}
	if f := n.failures[g]; f.count > 0 {
		n.log.Info("the receiver takes messages again", "attempts", f.count+1)
	}
	delete(n.failures, g)
	n.note(func(s *Status) { s.Err, s.LastSent = "", n.o.Clock() })
	merge(n.told, changes)
	if err := n.record.save(context.WithoutCancel(ctx), changes); err != nil {
		maps.Copy(n.unsaved, changes)
		n.log.Warn("what was told is not noted yet", "err", err)
	}
	return true
}

// failed puts a group off; false if no other one needs to be tried now.
func (n *Notifier) failed(g group, err error) bool {
	f := n.failures[g]
	pause := min(n.o.pace.first<<min(f.count, 16), n.o.pace.most)
	f.count++
	f.again = n.o.Clock().Add(pause/2 + rand.N(pause/2+1))
	n.failures[g] = f
	if f.count == 1 {
		n.log.Warn("the receiver did not take a message; it is tried again", "queue", g.queue, "err", err)
	}
	n.note(func(s *Status) { s.Err = err.Error() })
	var answered *statusError
	return errors.As(err, &answered)
}

// statusError is an answer that does not take a message.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the receiver answers %d %s", e.code, http.StatusText(e.code))
}

// post sends a message. Stopping does not interrupt it, so that it is known whether it was taken.
func (n *Notifier) post(ctx context.Context, body []byte, key string) error {
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, n.o.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the receiver is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Bullpen")
	req.Header.Set("Idempotency-Key", key)
	r, err := n.http.Do(req)
	if err != nil {
		return fmt.Errorf("the receiver does not answer: %w", withoutURL(err))
	}
	defer func() { _ = r.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 64<<10))
	if r.StatusCode/100 != 2 {
		return &statusError{r.StatusCode}
	}
	return nil
}

// withoutURL takes the address out of an error, which may hold a secret.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}
