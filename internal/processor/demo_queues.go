package processor

import (
	"time"

	"bullpen/internal/engine/policy"
)

// demoPlans are the demo's queues. Retention is small: the demo must not fill anybody's Redis.
func demoPlans() []demoPlan {
	few := policy.Keep{Set: true, Count: 200}
	const webhooks, deadLetter = "webhooks", "webhooks-dead-letter"
	return []demoPlan{
		{
			name: "emails", every: 350 * time.Millisecond, first: 60, beat: makeEmails, work: sendEmail,
			policy: policy.Policy{
				Attempts: 3, Backoff: policy.Backoff{Type: policy.Exponential, Delay: 2 * time.Second, Max: time.Minute, Jitter: 0.2},
				Concurrency: 4, KeepCompleted: few, KeepFailed: few, Timeout: time.Minute,
				WaitTarget: 30 * time.Second,
			},
		},
		{
			name: "thumbnails", every: 9 * time.Second, first: 2, beat: makeThumbnails, work: drawThumbnail,
			policy: policy.Policy{
				Attempts: 2, Backoff: policy.Backoff{Type: policy.Fixed, Delay: 3 * time.Second},
				Concurrency: 3, KeepCompleted: few, KeepFailed: few, Timeout: 2 * time.Minute,
				WaitTarget: time.Minute,
			},
		},
		{
			name: "partner-sync", every: 2500 * time.Millisecond, first: 5, beat: makeSync, work: syncPartner,
			policy: policy.Policy{
				Attempts: 5, Backoff: policy.Backoff{Type: policy.Exponential, Delay: 5 * time.Second, Max: 5 * time.Minute, Jitter: 0.5},
				Concurrency: 2, Limiter: policy.Limiter{Max: 5, Duration: 10 * time.Second},
				KeepCompleted: few, KeepFailed: few, Timeout: time.Minute, WaitTarget: 2 * time.Minute,
			},
		},
		{
			name: webhooks, every: 450 * time.Millisecond, first: 40, beat: makeWebhooks, work: deliverWebhook,
			policy: policy.Policy{
				Attempts: 4, Backoff: policy.Backoff{Type: policy.Exponential, Delay: time.Second, Max: 30 * time.Second, Jitter: 0.3},
				Concurrency: 5, KeepCompleted: few, KeepFailed: few, Timeout: 10 * time.Second,
				DeadLetter: deadLetter, WaitTarget: time.Minute,
			},
		},
		{
			name: "reminders", every: 2 * time.Second, first: 15, beat: makeReminders, work: sendReminder, schedulers: reminderSchedulers(),
			policy: policy.Policy{
				Attempts: 3, Backoff: policy.Backoff{Type: policy.Fixed, Delay: 5 * time.Second},
				Concurrency: 2, KeepCompleted: few, KeepFailed: few, Timeout: time.Minute,
			},
		},
		{name: deadLetter, every: 10 * time.Second, policy: policy.Policy{KeepCompleted: few, KeepFailed: few}},
	}
}
