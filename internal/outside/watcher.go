package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxBody bounds an answer: 500 queues with every alert of theirs are a few megabytes.
	maxBody = 16 << 20
	// timeout bounds a question.
	timeout = 10 * time.Second
	// usualInterval is the time between two questions, that of the rules.
	usualInterval = 30 * time.Second
)

// Options configure New. At least one address is required.
type Options struct {
	// Prometheus and Alertmanager are where they are reached, as their web.external-url has it. A user and password in
	// an address are sent, and never shown or logged.
	Prometheus, Alertmanager string
	// Alias is Bullpen's name of its Redis: alerts about others are left out.
	Alias    string
	Logger   *slog.Logger     // default: nothing is logged
	Clock    func() time.Time // default time.Now
	interval time.Duration    // set by tests
}

// Watcher asks both. Start and Stop begin and end that.
type Watcher struct {
	o             Options
	log           *slog.Logger
	http          *http.Client
	prom, manager *url.URL // nil when not configured
	state         atomic.Pointer[State]
	cancel        context.CancelFunc
	done          sync.WaitGroup
}

// New validates o. It asks nothing.
func New(o Options) (*Watcher, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.interval == 0 {
		o.interval = usualInterval
	}
	w := &Watcher{o: o, log: o.Logger.With("component", "outside"), http: &http.Client{Timeout: timeout}}
	first := &State{}
	for _, x := range []struct {
		name, address string
		at            **url.URL
		source        **Source
	}{
		{"Prometheus", o.Prometheus, &w.prom, &first.Prometheus},
		{"Alertmanager", o.Alertmanager, &w.manager, &first.Alertmanager},
	} {
		if x.address == "" {
			continue
		}
		u, err := url.Parse(strings.TrimRight(x.address, "/"))
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("outside: the address of %s must be an http or https address", x.name)
		}
		shown := *u
		shown.User = nil
		*x.at, *x.source = u, &Source{URL: shown.String()}
	}
	if w.prom == nil && w.manager == nil {
		return nil, errors.New("outside: an address is required")
	}
	w.state.Store(first)
	return w, nil
}

// State returns what is known now; never nil.
func (w *Watcher) State() *State { return w.state.Load() }

// Start begins to ask and returns at once.
func (w *Watcher) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.done.Go(func() {
		ticker := time.NewTicker(w.o.interval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			w.ask(ctx)
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	})
}

// Stop ends it and waits. Without Start it does nothing.
func (w *Watcher) Stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	w.done.Wait()
	w.http.CloseIdleConnections()
}

// ask asks both and publishes what they say. Who does not answer keeps what was known, with the reason.
func (w *Watcher) ask(ctx context.Context) {
	s := *w.State()
	if w.prom != nil {
		rules, err := w.rules(ctx)
		if s.Prometheus = w.asked("Prometheus", s.Prometheus, err); err == nil {
			s.Rules = rules
		}
	}
	if w.manager != nil {
		alerts, silences, err := w.alerts(ctx)
		if s.Alertmanager = w.asked("Alertmanager", s.Alertmanager, err); err == nil {
			s.Alerts, s.Silences = alerts, silences
		}
	}
	if ctx.Err() == nil {
		w.state.Store(&s)
	}
}

// asked notes how a question went.
func (w *Watcher) asked(name string, before *Source, err error) *Source {
	now := *before
	now.Asked = true
	if err == nil {
		if before.Err != "" {
			w.log.Info(name + " answers again")
		}
		now.Answered, now.Err = w.o.Clock(), ""
		return &now
	}
	if before.Err == "" && !errors.Is(err, context.Canceled) {
		w.log.Warn(name+" does not answer as it should", "err", err)
	}
	now.Err = err.Error()
	return &now
}

// get decodes the JSON at a path below an address.
func (w *Watcher) get(ctx context.Context, base *url.URL, path string, query url.Values, into any) error {
	u := base.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return errors.New("the address is not valid")
	}
	req.Header.Set("Accept", "application/json")
	r, err := w.http.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 64<<10))
		return fmt.Errorf("it answers %d %s", r.StatusCode, http.StatusText(r.StatusCode))
	}
	body := &io.LimitedReader{R: r.Body, N: maxBody}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		if body.N == 0 {
			return fmt.Errorf("its answer is longer than %d MB", maxBody>>20)
		}
		return fmt.Errorf("its answer is not what was expected: %w", err)
	}
	return nil
}

// withoutURL takes the address, which may hold a password, out of an error.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		if u.Timeout() {
			return fmt.Errorf("no answer within %s", timeout)
		}
		return u.Err
	}
	return err
}
