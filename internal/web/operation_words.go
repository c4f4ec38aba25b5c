package web

import (
	"strings"
	"time"

	"bullpen/internal/web/operation"
	"bullpen/internal/words"
)

// look is how an operation's state looks.
type look struct{ class, icon, word string }

func operationLook(st operation.Status) look {
	switch st.State {
	case operation.Done:
		return look{"s-completed", "s-completed", "done"}
	case operation.Interrupted:
		return look{"s-delayed", "h-warn", "interrupted"}
	case operation.Cancelled:
		return look{"s-paused", "s-paused", "cancelled"}
	case operation.Failed:
		return look{"s-failed", "s-failed", "stopped"}
	case operation.Queued:
		return look{"s-waiting", "s-waiting", "queued"}
	}
	return look{"s-active", "i-retry", "running"}
}

// operationTitle is "Retrying 214,200 failed jobs of audit-log", or what became of it.
func operationTitle(st operation.Status, queue string) string {
	verb := verbs(st.Verb)
	subject := st.Subject
	if st.Verb == "obliterate" {
		switch {
		case st.State == operation.Done:
			return verb.past + " " + queue
		case st.State.Ended():
			return verb.past + " " + words.Count(st.Done) + " of " + words.Plural(st.Matched, "job", "jobs") + " of " + queue
		}
		return verb.doing + " " + queue
	}
	if st.Matched > 0 {
		subject = words.Count(st.Matched) + " " + subject
	}
	switch {
	case st.State == operation.Done:
		return verb.past + " " + words.Count(st.Done) + " " + st.Subject + " of " + queue
	case st.State.Ended():
		return verb.past + " " + words.Count(st.Done) + " of " + subject + " of " + queue
	}
	return verb.doing + " " + subject + " of " + queue
}

// verb is an act in the forms sentences need.
type verb struct{ doing, past string }

func verbs(name string) verb {
	switch name {
	case "retry":
		return verb{"Retrying", "Retried"}
	case "replay":
		return verb{"Replaying", "Replayed"}
	case "promote":
		return verb{"Promoting", "Promoted"}
	case "remove":
		return verb{"Removing", "Removed"}
	case "clean":
		return verb{"Cleaning", "Cleaned"}
	case "drain":
		return verb{"Draining", "Drained"}
	case "obliterate":
		return verb{"Obliterating", "Obliterated"}
	}
	return verb{sentenceStart(name), sentenceStart(name)}
}

func sentenceStart(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func operationTabTitle(st operation.Status) string {
	if st.State.Ended() {
		return operationLook(st).word + ": " + st.Verb + " " + st.Subject
	}
	return progressPercent(st) + " " + verbs(st.Verb).doing + " " + st.Subject
}

func progressPercent(st operation.Status) string {
	if st.Matched == 0 {
		return words.Percent(0)
	}
	return words.Percent(float64(st.Done+st.Refused) / float64(st.Matched))
}

// operationSay is how far it is and what it means.
func operationSay(st operation.Status, now time.Time) (finding, say string) {
	refused := ""
	if st.Refused > 0 {
		refused = words.Plural(st.Refused, "was", "were") + " left alone, for the reasons below."
	}
	switch st.State {
	case operation.Queued:
		return "Waits for its turn.", "Only a few operations run at once."
	case operation.Preparing:
		return "Taking the snapshot.", "Jobs that come later are not touched."
	case operation.Done:
		return "Done in " + words.Exact(st.Ended.Sub(st.Started).Round(time.Millisecond)) + ".", refused
	case operation.Interrupted:
		return interruptedAt(st), strings.TrimSpace(sentence(st.Error) + " What was done stays done; you can start again with the others. " + refused)
	case operation.Cancelled:
		return "Cancelled.", strings.TrimSpace("What was done stays done, the others were not touched. " + refused)
	case operation.Failed:
		return "Stopped: " + st.Error + ".", "What was done stays done; you can start again with the others."
	}
	finding = progressPercent(st) + " done."
	if rate := st.Rate(now); rate > 0 && st.Left() > 0 {
		finding = progressPercent(st) + " done, " + words.Duration(secondsOf(float64(st.Left())/rate)) + " left."
	}
	return finding, strings.TrimSpace(refused + " You can leave this page, the operation runs on the server.")
}

func secondsOf(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Truncate(time.Second)
}
