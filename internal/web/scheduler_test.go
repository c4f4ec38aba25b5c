package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/jsonview"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// every makes a scheduler that fires now and then each hour.
func (b *bench) every(id string, data any) {
	b.t.Helper()
	_, err := b.queue.UpsertScheduler(b.t.Context(), id, engine.Repeat{Every: time.Hour}, engine.JobTemplate{Name: "digest", Data: data})
	require.NoError(b.t, err)
	b.monitor.snap.Queues[0].Schedulers++
}

func TestSchedulerPages(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Mask = jsonview.MaskKeys([]string{"token"}) })
	has(t, b.get("/schedulers").body, "No queue has a scheduler")
	has(t, b.get("/queues/email/schedulers").body, "New scheduler…")
	b.every("sweep", map[string]any{"token": "hunter2", "days": 7})
	limit := int64(9)
	_, err := b.queue.UpsertScheduler(t.Context(), "mail/<b>digest", engine.Repeat{
		Pattern: "30 9 * * 1-5", TZ: "Asia/Kolkata", Limit: &limit, EndDate: time.Now().AddDate(3, 0, 0),
	}, engine.JobTemplate{})
	require.NoError(t, err)
	b.monitor.snap.Queues[0].Schedulers++
	before := b.dump()
	for _, path := range []string{"/schedulers", "/queues/email/schedulers"} {
		page := b.get(path).body
		for _, want := range []string{
			"Every weekday at 09:30", "30 9 * * 1-5", "Asia/Kolkata", "mail/&lt;b&gt;digest", "0 of 9", "until ", "Every hour", "3,600,000",
			"jobs named digest", "Next firings", "Run now", "Edit…", "Remove…",
		} {
			has(t, page, want, path)
		}
		require.Equal(t, 10, strings.Count(page, `<tr class="firing">`), "the next five of both")
		hasNot(t, page, "hunter2", "masked like the data of jobs")
	}
	one := b.get("/queues/email/schedulers/mail~2F~3Cb~3Edigest").body
	has(t, one, "Every weekday at 09:30, Asia/Kolkata.")
	has(t, one, "09:30:00</th>", "on its own clock")
	has(t, one, "04:00:00</time>", "and on the dashboard's")
	has(t, b.get("/queues/email").body, `href="/queues/email/schedulers"`)
	job, err := b.queue.Scheduler(t.Context(), "sweep")
	require.NoError(t, err)
	has(t, b.get("/queues/email/jobs/"+escapeSegment(job.JobID)).body, `href="/queues/email/schedulers/sweep"`)
	require.Equal(t, http.StatusNotFound, b.get("/queues/email/schedulers/nope").status)
	require.Equal(t, before, b.dump(), "looking changes nothing")

	var list schedulersJSON
	require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/queues/email/schedulers").body), &list))
	require.Equal(t, int64(2), list.Total)
	require.Len(t, list.Schedulers[0].Firings, 5)
	all := b.get("/api/v1/schedulers").body
	has(t, all, `"rhythm": "every weekday at 09:30"`)
	hasNot(t, all, "hunter2")
}

func TestOldRepeatableJobsAreShownAndLeftAlone(t *testing.T) {
	b := newBench(t)
	ctx, legacy, md5 := t.Context(), "cron::::0 0 1 1 *", "4eb4b5cd6e2f5fb6ec5ec2a7a2ecd2a0"
	for _, id := range []string{legacy, "rep:::60000", md5, "lost"} {
		require.NoError(t, b.client.ZAdd(ctx, b.queue.Repeat(), redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: id}).Err())
	}
	require.NoError(t, b.client.HSet(ctx, b.queue.Queue.Key("repeat:"+md5), "name", "report", "pattern", "0 6 * * *", "tz", "UTC").Err())
	b.monitor.snap.Queues[0].Schedulers = 4
	before := b.dump()
	page := b.get("/queues/email/schedulers").body
	for _, want := range []string{"repeatable job of an old version", "repeatable job of BullMQ 5", "record missing", "Every day at 06:00", "60,000"} {
		has(t, page, want)
	}
	hasNot(t, page, "Run now")
	for _, id := range []string{legacy, "rep:::60000", md5, "lost"} {
		at := "/queues/email/schedulers/" + escapeSegment(id)
		has(t, b.get(at).body, "left alone")
		for _, verb := range []string{"run", "edit", "remove"} {
			a := b.call("/api/v1"+at+"/"+verb, `{"confirm":"yes"}`)
			require.Equal(t, http.StatusConflict, a.status, "%s %s: %s", verb, id, a.body)
		}
	}
	require.Equal(t, before, b.dump())
}

func TestMakeASchedulerInTwoSteps(t *testing.T) {
	b := newBench(t)
	has(t, b.get("/queues/email/schedule").body, "New scheduler in email")
	typed := url.Values{"key": {"nightly"}, "pattern": {"61 * * * *"}, "every": {"soon"}, "tz": {"Europe/Atlantis"}, "start": {"tomorrow"}, "limit": {"-1"}, "name": {""}, "data": {"{"}, "attempts": {"x"}}
	bad := b.post("/queues/email/schedule", typed)
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	for _, want := range []string{"Write a number and a unit", "No zone has this name.", "Write it as 2027-01-31 18:00.", "A whole number from 1", "This is not JSON", `value="Europe/Atlantis"`, `value="tomorrow"`, "minute"} {
		has(t, bad.body, want)
	}
	require.Empty(t, b.dump())

	form := url.Values{"key": {"nightly"}, "pattern": {"30 2 * * *"}, "tz": {"Europe/Berlin"}, "name": {"backup"}, "data": {`{"n":12345678901234567890}`}, "attempts": {"4"}}
	ask := b.post("/queues/email/schedule", form)
	require.Equal(t, http.StatusOK, ask.status, ask.body)
	has(t, ask.body, "Every day at 02:30, Europe/Berlin. Jobs named backup are added to email.")
	require.Equal(t, 5, strings.Count(ask.body, `<tr class="firing">`))
	require.Empty(t, b.dump(), "a question is not an act")
	form.Set("confirm", "yes")
	done := b.post("/queues/email/schedule", form)
	require.Equal(t, http.StatusSeeOther, done.status, done.body)
	require.Equal(t, "/queues/email/schedulers/nightly", done.header.Get("Location"))
	has(t, b.notice(done), "Added scheduler nightly.")
	made, err := b.queue.Scheduler(t.Context(), "nightly")
	require.NoError(t, err)
	require.Equal(t, "backup", made.Name)
	require.Equal(t, "Europe/Berlin", made.Repeat.TZ)
	require.Equal(t, `{"n":12345678901234567890}`, string(made.Data))
	require.Equal(t, 4, made.Options.Attempts)

	again := b.call("/api/v1/queues/email/schedule", `{"key":"nightly","every":"1h","confirm":"yes"}`)
	require.Equal(t, http.StatusUnprocessableEntity, again.status)
	has(t, again.body, "There is a scheduler with this key already.")
	both := b.call("/api/v1/queues/email/schedule", `{"key":"b","every":"1h","pattern":"* * * * *","confirm":"yes"}`)
	has(t, both.body, "not both")
	never := b.call("/api/v1/queues/email/schedule", `{"key":"b","pattern":"0 0 1 1 *","end":"2020-01-01","confirm":"yes"}`)
	require.Equal(t, http.StatusUnprocessableEntity, never.status, never.body)
	has(t, never.body, `"field": "end"`)
	seen := b.call("/api/v1/queues/email/schedule", `{"key":"hourly","every":"1h","limit":3}`)
	require.Equal(t, http.StatusOK, seen.status, seen.body)
	has(t, seen.body, `"rhythm": "every hour"`)
	require.Equal(t, 3, strings.Count(seen.body, "Z\""), "a limit of three")
}

func TestEditAScheduler(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Mask = jsonview.MaskKeys([]string{"token"}) })
	_, err := b.queue.UpsertScheduler(t.Context(), "sweep", engine.Repeat{Pattern: "0 9 * * *", TZ: "UTC"}, engine.JobTemplate{
		Name: "sweep", Data: map[string]any{"token": "hunter2"}, Options: engine.JobOptions{Attempts: 3, Backoff: &engine.Backoff{Type: "fixed", Delay: time.Second}},
	})
	require.NoError(t, err)
	at := "/queues/email/schedulers/sweep/edit"
	form := b.get(at).body
	has(t, form, `value="0 9 * * *"`)
	hasNot(t, form, "hunter2")
	found, err := b.queue.Scheduler(t.Context(), "sweep")
	require.NoError(t, err)
	values := url.Values{
		"name": {"sweep"}, "pattern": {"15 10 * * 1"}, "tz": {"America/New_York"}, "data": {strings.ReplaceAll(`{"token":"MARK","more":1}`, "MARK", jsonview.MaskText+" 1")},
		"attempts": {"3"}, "version": {schedulerVersion(found)},
	}
	ask := b.post(at, values)
	require.Equal(t, http.StatusOK, ask.status, ask.body)
	for _, want := range []string{"Save scheduler sweep?", "0 9 * * * → 15 10 * * 1", "UTC → America/New_York", "Every Monday at 10:15, America/New_York."} {
		has(t, ask.body, want)
	}
	values.Set("confirm", "yes")
	done := b.post(at, values)
	require.Equal(t, http.StatusSeeOther, done.status, done.body)
	after, err := b.queue.Scheduler(t.Context(), "sweep")
	require.NoError(t, err)
	require.Equal(t, "15 10 * * 1", after.Repeat.Pattern)
	require.JSONEq(t, `{"token":"hunter2","more":1}`, string(after.Data), "what is masked stays")
	require.Equal(t, time.Second, after.Options.Backoff.Delay, "options that the form does not have stay")

	late := b.post(at, values)
	require.Equal(t, http.StatusUnprocessableEntity, late.status)
	has(t, late.body, "It was changed by somebody else meanwhile.")
	partly := b.call("/api/v1"+at, `{"limit":5,"confirm":"yes"}`)
	require.Equal(t, http.StatusOK, partly.status, partly.body)
	after, err = b.queue.Scheduler(t.Context(), "sweep")
	require.NoError(t, err)
	require.Equal(t, int64(5), *after.Repeat.Limit)
	require.Equal(t, "15 10 * * 1", after.Repeat.Pattern, "what is left out stays")
	require.Equal(t, "edit scheduler", b.audit.take()[0].Action)
}

func TestRunAndRemoveAScheduler(t *testing.T) {
	b := newBench(t)
	b.every("sweep", map[string]int{"days": 7})
	at, page := "/queues/email/schedulers/sweep", "/queues/email/schedulers"
	found, err := b.queue.Scheduler(t.Context(), "sweep")
	require.NoError(t, err)
	seen := schedulerVersion(found)
	b.audit.take()
	a := b.post(at+"/run", url.Values{"seen": {seen}, "back": {page}})
	has(t, b.notice(a), "Ran scheduler sweep.")
	e := b.audit.take()[0]
	require.Equal(t, "sweep", e.Target)
	j, err := b.queue.Job(t.Context(), e.Jobs[0])
	require.NoError(t, err)
	require.Equal(t, "digest", j.Name)
	require.JSONEq(t, `{"days":7}`, string(j.Data))
	after, err := b.queue.Scheduler(t.Context(), "sweep")
	require.NoError(t, err)
	require.Equal(t, found, after, "the schedule stays as it is")

	b.every("sweep", map[string]int{"days": 8})
	late := b.post(at+"/run", url.Values{"seen": {seen}, "back": {page}})
	has(t, b.notice(late), "was changed by somebody else meanwhile")
	has(t, b.get(at+"/remove").body, "Remove scheduler sweep?")
	ask := b.post(at+"/remove", url.Values{"back": {at}})
	require.Equal(t, http.StatusOK, ask.status)
	a = b.post(at+"/remove", url.Values{"confirm": {"yes"}, "back": {at}})
	require.Equal(t, page, a.header.Get("Location"), "its own page is gone")
	has(t, b.notice(a), "Removed scheduler sweep.")
	n, err := b.queue.CountSchedulers(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, http.StatusNotFound, b.call("/api/v1"+at+"/run", `{}`).status)
	require.Equal(t, http.StatusNotFound, b.call("/api/v1"+at+"/remove", `{"confirm":"yes","seen":"x"}`).status/100*100+4)
}

// TestSchedulersInPages lists many, of several queues, some of which the viewer may not see.
func TestSchedulersInPages(t *testing.T) {
	b := newBench(t)
	for i := range 30 {
		b.every(fmt.Sprintf("s-%02d", i), nil)
	}
	first, second := b.get("/queues/email/schedulers").body, b.get("/queues/email/schedulers?page=2").body
	require.Equal(t, 25, strings.Count(first, "data-row"))
	require.Equal(t, 5, strings.Count(second, "data-row"))
	has(t, first, "1–25 of 30\u00a0schedulers")
	has(t, b.get("/schedulers?page=2").body, "26–30 of 30\u00a0schedulers")
	require.Equal(t, 5, strings.Count(b.get("/schedulers?page=2").body, "data-row"))
	has(t, b.get("/queues/email/schedulers?page=7").body, "Nothing on this page")
	hidden := newBench(t, func(o *Options) { o.Auth = fixed{Identity{Name: "oz", Role: Viewer, Queues: []string{"video-*"}}} })
	hidden.every("s", nil)
	hasNot(t, hidden.get("/schedulers").body, "data-row")
	require.Equal(t, http.StatusNotFound, hidden.get("/queues/email/schedulers").status)
}

// TestScheduleWords tells apart what ended, what stopped and what is late.
func TestScheduleWords(t *testing.T) {
	now := time.Date(2026, 3, 12, 14, 0, 0, 0, time.UTC)
	one := int64(1)
	f := func(change func(*scheduled)) scheduled {
		s := scheduled{Scheduler: engine.Scheduler{Pending: true, Next: now.Add(time.Minute), Repeat: engine.Repeat{Every: time.Minute}}, current: keys.Delayed}
		change(&s)
		return s
	}
	for _, tt := range []struct {
		f       scheduled
		why     string
		broken  bool
		overdue bool
	}{
		{f: f(func(*scheduled) {})},
		{f: f(func(s *scheduled) { s.Next = now.Add(-time.Second) })},
		{f: f(func(s *scheduled) { s.Next = now.Add(-time.Minute) }), overdue: true},
		{f: f(func(s *scheduled) { s.Next, s.current = now.Add(-time.Minute), keys.Active })},
		{f: f(func(s *scheduled) { s.Pending, s.Repeat.Limit = false, &one }), why: "All its firings are done."},
		{f: f(func(s *scheduled) { s.Pending, s.Repeat.EndDate = false, now.Add(-time.Hour) }), why: "Its end date has passed."},
		{f: f(func(s *scheduled) { s.Pending = false }), why: "The job of its firing ended", broken: true},
	} {
		why, broken := tt.f.over(now)
		require.True(t, strings.HasPrefix(why, tt.why) && (why == "") == (tt.why == ""), why)
		require.Equal(t, tt.broken, broken)
		require.Equal(t, tt.overdue, tt.f.overdue(now))
	}
}
