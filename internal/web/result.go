package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"

	"github.com/labstack/echo/v4"
)

// Result is what an action did, for people and programs.
type Result struct {
	Action string `json:"action"`
	Queue  string `json:"queue,omitempty"`
	// Queues are the qualified names of an act on several, for the activity.
	Queues []string `json:"-"`
	// Message is the whole result in a sentence: "Retried 4 jobs."
	Message string `json:"message"`
	// Text goes on where Message ends.
	Text string `json:"text,omitempty"`
	Done int64  `json:"done"`
	// Refused counts what was left alone, Refusals says why for some of it.
	Refused  int64     `json:"refused"`
	Refusals []Refusal `json:"refusals,omitempty"`
	// Operation is the id of the operation that goes on with it.
	Operation string `json:"operation,omitempty"`
	// JobID is the job that was added.
	JobID string `json:"jobId,omitempty"`
	// Location is where a person goes next, without the base path; "" returns to where the button was.
	Location string `json:"location,omitempty"`
}

// Refusal says why one job was left alone.
type Refusal struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// maxFlashDetails bounds the lines of a notice, so that it fits into a cookie.
const maxFlashDetails = 5

// notice is the result as a page shows it.
func (r Result) notice(l links) templates.Notice {
	n := templates.Notice{Class: "s-completed", Icon: "s-completed", Strong: r.Message, Text: r.Text, Alert: true}
	if r.Refused > 0 {
		n.Class, n.Icon = "s-delayed", "h-warn"
		if r.Done == 0 {
			n.Class, n.Icon = "s-failed", "h-crit"
		}
	}
	for i, f := range r.Refusals {
		if i == maxFlashDetails {
			n.Details = append(n.Details, words.Plural(r.Refused-int64(i), "more was left alone", "more were left alone"))
			break
		}
		n.Details = append(n.Details, clip(f.ID, 60)+": "+clip(f.Reason, 160))
	}
	if r.Operation != "" {
		n.Links = []templates.Link{{Label: "Watch it", URL: l.to("/operations/" + r.Operation)}}
	}
	return n
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// flashCookie carries a notice over the redirect after a write.
const flashCookie = "bullpen_notice"

// flashBox signs notices, so that nobody else can put words on our pages. The key lives as long as the process: a
// notice that meets another replica is lost, its effect is not.
type flashBox struct {
	key    []byte
	path   string
	secure bool // the dashboard is reached by https
}

func newFlashBox(base string, secure bool) flashBox {
	return flashBox{key: []byte(rand.Text()), path: base + "/", secure: secure}
}

func (b flashBox) sign(payload string) string {
	m := hmac.New(sha256.New, b.key)
	m.Write([]byte(payload))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}

// put keeps n for the next page. Ids and reasons of jobs are in it: they are cut to what a cookie holds, and made
// harmless to read.
func (b flashBox) put(c echo.Context, n templates.Notice) {
	n.Strong, n.Text = jsonview.Visible(clip(n.Strong, 300)), jsonview.Visible(clip(n.Text, 600))
	for i, d := range n.Details {
		n.Details[i] = jsonview.Visible(d)
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return // a Notice is strings and bools
	}
	payload := base64.RawURLEncoding.EncodeToString(raw)
	http.SetCookie(c.Response(), b.cookie(payload+"."+b.sign(payload), 60))
}

// take returns the kept notice, if there is one, and forgets it.
func (b flashBox) take(c echo.Context) []templates.Notice {
	cookie, err := c.Cookie(flashCookie)
	if err != nil || cookie.Value == "" {
		return nil
	}
	http.SetCookie(c.Response(), b.cookie("", -1))
	payload, sig, _ := strings.Cut(cookie.Value, ".")
	if !hmac.Equal([]byte(sig), []byte(b.sign(payload))) {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil
	}
	var n templates.Notice
	if json.Unmarshal(raw, &n) != nil {
		return nil
	}
	return []templates.Notice{n}
}

func (b flashBox) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: flashCookie, Value: value, Path: b.path, MaxAge: maxAge, HttpOnly: true, Secure: b.secure, SameSite: http.SameSiteStrictMode}
}

// flash is the notice of the write before this page.
func (s *Server) flash(c echo.Context) []templates.Notice { return s.flashes.take(c) }

// safeBack lets a form return to one of our own views only.
func safeBack(back string) string {
	if !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") || strings.ContainsAny(back, "\\\r\n\t\x00") {
		return "/"
	}
	return back
}
