package processor

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

const (
	// callbackPath is where the callbacks are mounted below the public URL.
	callbackPath = "/callback/"
	// callbackLife is how long a callback URL is good for when its attempt has no time limit.
	callbackLife = 24 * time.Hour
	// callbackSlack is added to an attempt's time limit, for clocks that differ between replicas.
	callbackSlack = time.Minute
	// callbackKeyLength is the least length of the signing key in bytes.
	callbackKeyLength = 16
)

var (
	errForged      = errors.New("this callback was not issued here")
	errAttemptOver = errors.New("the attempt of this callback is over")
)

// CallbackOptions configure NewCallbacks.
type CallbackOptions struct {
	// URL is how handlers reach this server, base path included and without a trailing slash. Required.
	URL string
	// Key signs the URLs; all replicas behind URL must share it. At least 16 bytes.
	Key []byte
	// Queue opens a queue, for calls that reach a replica that does not run the attempt. Required.
	Queue func(keys.Queue) (*engine.Queue, error)
	// Clock tells when a URL expires; default time.Now.
	Clock func() time.Time
}

// Callbacks issues a URL for each attempt and serves it while the attempt runs. It is an http.Handler to be mounted at
// "<base path>/callback/".
type Callbacks struct {
	CallbackOptions
	mu      sync.Mutex
	running map[callbackToken]*runningAttempt
}

// callbackToken is what a URL is good for: one activation of one job. Started is the job's attemptsStarted, which no two
// activations share.
type callbackToken struct {
	Prefix  string `json:"p"`
	Queue   string `json:"q"`
	ID      string `json:"i"`
	Started int    `json:"s"`
	Expires int64  `json:"e"` // Unix seconds
}

// runningAttempt is an attempt this process runs. The mutex keeps its callbacks apart from each other and lets the
// attempt's end wait for one that is under way.
type runningAttempt struct {
	mu   sync.Mutex
	job  attemptJob
	over bool
}

// attemptJob is the part of *engine.Job that callbacks use.
type attemptJob interface {
	UpdateProgress(ctx context.Context, v any) error
	UpdateData(ctx context.Context, v any) error
	Log(ctx context.Context, row string) (int64, error)
	ChildrenValues(ctx context.Context) (map[string]json.RawMessage, error)
}

// NewCallbacks validates o.
func NewCallbacks(o CallbackOptions) (*Callbacks, error) {
	switch {
	case o.URL == "":
		return nil, errors.New("callbacks: no public URL")
	case len(o.Key) < callbackKeyLength:
		return nil, fmt.Errorf("callbacks: key of %d bytes; want at least %d", len(o.Key), callbackKeyLength)
	case o.Queue == nil:
		return nil, errors.New("callbacks: no way to open a queue")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	// A key of their own: a token must never pass for another signature made with the same key.
	mac := hmac.New(sha256.New, o.Key)
	mac.Write([]byte("bullpen callback"))
	o.Key = mac.Sum(nil)
	o.URL = strings.TrimSuffix(o.URL, "/")
	return &Callbacks{CallbackOptions: o, running: map[callbackToken]*runningAttempt{}}, nil
}

// begin issues the URL of a running attempt. end makes it useless; it waits for a call that is under way. timeout is
// the attempt's limit, 0 if it has none.
func (c *Callbacks) begin(q keys.Queue, j *engine.Job, timeout time.Duration) (link string, end func()) {
	life := callbackLife
	if timeout > 0 {
		life = timeout + callbackSlack
	}
	t := callbackToken{
		Prefix: q.Prefix, Queue: q.Name, ID: j.ID, Started: j.AttemptsStarted,
		Expires: c.Clock().Add(life).Unix(),
	}
	a := &runningAttempt{job: j}
	c.mu.Lock()
	c.running[t] = a
	c.mu.Unlock()
	return c.URL + callbackPath + c.seal(t), func() {
		c.mu.Lock()
		delete(c.running, t)
		c.mu.Unlock()
		a.mu.Lock()
		a.over = true
		a.mu.Unlock()
	}
}

// seal writes a token as text: its JSON and the signature over it.
func (c *Callbacks) seal(t callbackToken) string {
	b, _ := json.Marshal(t) // strings and integers cannot fail
	body := base64.RawURLEncoding.EncodeToString(b)
	return body + "." + base64.RawURLEncoding.EncodeToString(c.mac(body))
}

// open reads a token that seal wrote and that has not expired.
func (c *Callbacks) open(sealed string) (callbackToken, error) {
	var t callbackToken
	body, signature, _ := strings.Cut(sealed, ".")
	sum, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(sum, c.mac(body)) {
		return t, errForged
	}
	b, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(b, &t) != nil {
		return t, errForged
	}
	if c.Clock().Unix() >= t.Expires {
		return t, errAttemptOver
	}
	return t, nil
}

func (c *Callbacks) mac(body string) []byte {
	mac := hmac.New(sha256.New, c.Key)
	mac.Write([]byte(body))
	return mac.Sum(nil)
}

// with runs f on the job of a token if its attempt runs, here or on another replica.
func (c *Callbacks) with(ctx context.Context, t callbackToken, f func(attemptJob) error) error {
	c.mu.Lock()
	a := c.running[t]
	c.mu.Unlock()
	if a == nil {
		j, err := c.elsewhere(ctx, t)
		if err != nil {
			return err
		}
		return f(j)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return errAttemptOver
	}
	return f(a.job)
}

// elsewhere reads the job of an attempt that another replica runs: it is active, locked, and not started again since.
func (c *Callbacks) elsewhere(ctx context.Context, t callbackToken) (attemptJob, error) {
	q, err := c.Queue(keys.Queue{Prefix: t.Prefix, Name: t.Queue})
	if err != nil {
		return nil, err
	}
	rows, err := q.RowsByID(ctx, []string{t.ID})
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 || rows[0].Missing || !rows[0].Locked || rows[0].AttemptsStarted != t.Started {
		return nil, errAttemptOver
	}
	j, err := q.Job(ctx, t.ID)
	if errors.Is(err, engine.ErrJobNotFound) {
		return nil, errAttemptOver
	}
	return j, err
}
