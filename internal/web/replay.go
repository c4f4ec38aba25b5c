package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// replayable are the states dead letters wait in: those nobody has looked at, and those on which a worker of the
// dead-letter queue itself failed.
var replayable = []keys.State{keys.Waiting, keys.Failed, keys.Delayed, keys.Prioritized, keys.Completed}

// replayActions are the acts that put the originals of dead letters back.
func (s *Server) replayActions() []Action {
	return []Action{
		{Name: "replay", Path: "/queues/:queue/replay", Role: Operator, Ask: s.askReplay, Do: s.replayMany},
		{Name: "replay", Path: "/queues/:queue/jobs/:id/replay", Role: Operator, State: s.jobState, Do: s.replayJob},
	}
}

func (s *Server) askReplay(ctx context.Context, c *Call) (*Question, error) {
	sel, err := selected(c, replayable...)
	if err != nil || !sel.all {
		return nil, err
	}
	return s.askAll(ctx, c, sel, "Replay", replayWords, false)
}

// replayWords say what a replay of many letters does.
const replayWords = "Each original that is still failed runs again where it is, with all its attempts; one that is gone is added again " +
	"under its own id. The letter goes in the same step. Letters that arrive later are not touched."

func (s *Server) replayMany(ctx context.Context, c *Call) (Result, error) {
	return s.many(ctx, c, replayable, "Replayed", replaying(c))
}

// replaying is the act on a batch of letters, on behalf of the caller.
func replaying(c *Call) func(*engine.Queue, keys.State) batchAct {
	return func(q *engine.Queue, _ keys.State) batchAct {
		return func(ctx context.Context, letters []string) (done []string, refused []engine.Refusal, err error) {
			allowed, refused, err := mayReplay(ctx, c, q, letters)
			if err != nil {
				return nil, nil, err
			}
			replayed, left, err := q.Replay(ctx, allowed)
			for _, r := range replayed {
				done = append(done, r.Letter)
			}
			return done, append(refused, left...), err
		}
	}
}

// mayReplay sorts out the letters whose originals are of queues the person has nothing to do with: a replay writes there.
func mayReplay(ctx context.Context, c *Call, q *engine.Queue, letters []string) (allowed []string, refused []engine.Refusal, err error) {
	if !c.Who.bounded() {
		return letters, nil, nil
	}
	told, err := q.DeadLetters(ctx, letters)
	if err != nil {
		return nil, nil, err
	}
	for i, letter := range letters {
		if l := told[i]; l != nil && !c.Who.May(c.Action.Role, keys.Queue{Prefix: q.Prefix, Name: l.Queue}) {
			refused = append(refused, engine.Refusal{ID: letter, Err: fmt.Errorf("its original is of %s, which %s may not change", l.Queue, c.Who.Name)})
			continue
		}
		allowed = append(allowed, letter)
	}
	return allowed, refused, nil
}

func (s *Server) replayJob(ctx context.Context, c *Call) (Result, error) {
	q, letter, err := s.jobOf(c)
	if err != nil {
		return Result{}, err
	}
	_, refused, err := mayReplay(ctx, c, q, []string{letter})
	if err != nil {
		return Result{}, err
	}
	if len(refused) > 0 {
		return Result{}, problem(http.StatusForbidden, "Not allowed", "Letter %s was left alone: %s.", letter, refused[0].Err)
	}
	r, err := q.ReplayOne(ctx, letter)
	if err != nil {
		return Result{}, s.notReplayed(ctx, q, letter, err)
	}
	original := keys.Queue{Prefix: q.Prefix, Name: r.Queue}
	how := "It was still failed and waits again, with all its attempts."
	if r.Again {
		how = "It was gone and was added again under its own id."
	}
	return Result{
		Message: "Replayed job " + r.ID + " of " + r.Queue + ".", Text: how + " Its dead letter " + letter + " is gone.", Done: 1, JobID: r.ID,
		Location: s.links.queuePath(original, "jobs", r.ID),
	}, nil
}

// notReplayed says why a letter was left alone.
func (s *Server) notReplayed(ctx context.Context, q *engine.Queue, letter string, err error) error {
	if !errors.Is(err, engine.ErrReplayed) {
		return left(letter, err, keys.Waiting)
	}
	detail := "Letter " + letter + " was replayed before."
	if at, readErr := q.ReplayedAt(ctx, letter); readErr == nil && !at.IsZero() {
		detail = "Letter " + letter + " was replayed on " + s.exact(at) + "."
	}
	return &Problem{Status: http.StatusConflict, Title: "Nothing was done", Detail: detail, cause: err}
}

// replays reports whether the jobs of a state are letters to offer a replay for.
func replays(q *monitor.Queue, st keys.State) bool {
	return q.DeadLetter && (st == keys.Waiting || st == keys.Failed)
}

// replayListing adds the replay of letters to the list of a dead-letter queue.
func replayListing(q *monitor.Queue, st keys.State, how listing) listing {
	if replays(q, st) {
		how.rowAct, how.text = "replay", "Why the original failed"
		how.bulk = append([]string{"replay"}, how.bulk...)
	}
	return how
}

// replayAll is the act on every letter of a dead-letter queue in a state; none elsewhere.
func (s *Server) replayAll(r viewRequest, q *monitor.Queue, st keys.State) []templates.Act {
	if !replays(q, st) {
		return nil
	}
	return []templates.Act{{Label: "Replay all…", Icon: "i-retry", URL: s.links.queue(q.Queue, "replay") + r.asking("all", "1", "state", string(st))}}
}

// replayAct is the button on the page of a dead letter; nil elsewhere.
func (s *Server) replayAct(r viewRequest, q *monitor.Queue, j *engine.Peek) *templates.Act {
	if j.DeadLetter() == nil || j.State == keys.Active {
		return nil
	}
	return &templates.Act{
		Label: "Replay", Icon: "i-retry", Class: "go", Key: "e", Leaves: true, URL: s.links.job(q.Queue, j.ID, "replay"),
		Fields: []templates.Field{{Name: "seen", Value: string(j.State)}, {Name: "back", Value: r.self()}},
	}
}

// letterFinding says what a dead letter is; "" for other jobs.
func letterFinding(r viewRequest, q *monitor.Queue, j *engine.Peek) string {
	l := j.DeadLetter()
	if l == nil {
		return ""
	}
	text := "Dead letter of job " + jsonview.Visible(l.ID) + " of " + jsonview.Visible(l.Queue)
	if !r.who.May(Viewer, keys.Queue{Prefix: q.Prefix, Name: l.Queue}) {
		text = "Dead letter of a job in a queue that you may not see"
	}
	if l.FailedAt > 0 {
		text += ", which failed " + words.Duration(r.now.Sub(time.UnixMilli(l.FailedAt)).Truncate(time.Second)) + " ago"
	}
	return text + ": " + orNone(jsonview.Visible(firstLineOf(l.Reason, 200)))
}

// letterFacts lead from a dead letter to its original, and from an original to the letter it came back by.
func (s *Server) letterFacts(r viewRequest, q *monitor.Queue, j *engine.Peek) []templates.Fact {
	var out []templates.Fact
	if l := j.DeadLetter(); l != nil {
		original := keys.Queue{Prefix: q.Prefix, Name: l.Queue}
		of := templates.Fact{Label: "Dead letter of", Value: jsonview.Visible(l.ID), URL: s.links.job(original, l.ID), Small: "in " + jsonview.Visible(l.Queue)}
		if !r.who.May(Viewer, original) {
			of = templates.Fact{Label: of.Label, Value: "a job", Small: "in a queue that you may not see"}
		}
		out = append(out, of, templates.Fact{Label: "Attempts it had made", Value: words.Count(int64(l.AttemptsMade))})
	}
	if from := j.ReplayedFrom(); from != nil {
		dead := keys.Queue{Prefix: q.Prefix, Name: from.Queue}
		at := ", " + s.exact(time.UnixMilli(from.At))
		of := templates.Fact{Label: "Replayed from", Value: jsonview.Visible(from.ID), URL: s.links.queue(dead), Small: "dead letter in " + jsonview.Visible(from.Queue) + at}
		if !r.who.May(Viewer, dead) {
			of = templates.Fact{Label: of.Label, Value: "a dead letter", Small: "in a queue that you may not see" + at}
		}
		out = append(out, of)
	}
	return out
}

// explainGone adds to the words for a job that is not there where it went, if it was a dead letter that was replayed.
func (s *Server) explainGone(ctx context.Context, r viewRequest, q *engine.Queue, id string, p *Problem) *Problem {
	at, err := q.ReplayedAt(ctx, id)
	if err != nil || at.IsZero() {
		return p
	}
	p.Detail = "It was a dead letter and was replayed on " + s.exact(at) + "."
	if queue, job, ok := originalOf(r.snap, q.Queue, id); ok && r.who.May(Viewer, queue) {
		p.Links = append([]templates.Link{{Label: "Job " + job + " of " + queue.Name, URL: s.links.job(queue, job)}}, p.Links...)
	}
	return p
}

// originalOf finds the job a dead letter's id names: "<queue>.<id>.<finishedOn>". Names and ids may have dots, so the
// longest queue that exists counts.
func originalOf(snap *monitor.Snapshot, dead keys.Queue, letter string) (q keys.Queue, id string, ok bool) {
	cut := strings.LastIndexByte(letter, '.')
	if cut < 0 {
		return q, "", false
	}
	if _, err := strconv.ParseInt(letter[cut+1:], 10, 64); err != nil {
		return q, "", false
	}
	head := letter[:cut]
	for i := len(head) - 2; i > 0; i-- {
		if head[i] == '.' && snap.Queue(dead.Prefix, head[:i]) != nil {
			return keys.Queue{Prefix: dead.Prefix, Name: head[:i]}, head[i+1:], true
		}
	}
	return q, "", false
}
