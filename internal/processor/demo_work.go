package processor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"bullpen/internal/engine"
)

func sendEmail(ctx context.Context, j *demoJob) (any, error) {
	var e email
	if err := json.Unmarshal(j.Data, &e); err != nil {
		return nil, engine.Unrecoverable(fmt.Errorf("email: %w", err))
	}
	j.note(ctx, "rendered template %s in %s", e.Template, e.Locale)
	if err := j.takes(ctx, 60*time.Millisecond, 440*time.Millisecond); err != nil {
		return nil, err
	}
	if j.chance(0.03) {
		return nil, demoFailure("smtp.example:587", pick(j.rand,
			"421 4.7.0 Temporary system problem, try again later", "connect ETIMEDOUT 198.51.100.7:587",
			"450 4.2.1 The recipient is receiving mail too quickly"))
	}
	if j.chance(0.004) {
		return nil, engine.Unrecoverable(demoFailure("smtp.example:587", "550 5.1.1 The address does not exist"))
	}
	id := hexID(j.rand, 12)
	j.note(ctx, "smtp: 250 2.0.0 Ok: queued as %s", strings.ToUpper(id))
	return map[string]any{"messageId": "<" + id + "@mail.example>", "accepted": []string{e.To}}, nil
}

func drawThumbnail(ctx context.Context, j *demoJob) (any, error) {
	var t thumbnail
	if err := json.Unmarshal(j.Data, &t); err != nil {
		return nil, engine.Unrecoverable(fmt.Errorf("thumbnail: %w", err))
	}
	if strings.HasSuffix(t.Source, ".heic") && j.chance(0.2) {
		return nil, engine.Unrecoverable(errors.New("unsupported image type: image/heic, profile 10-bit"))
	}
	for i, size := range t.Sizes {
		if err := j.takes(ctx, 60*time.Millisecond, 240*time.Millisecond); err != nil {
			return nil, err
		}
		if j.chance(0.004) {
			return nil, demoFailure("vips", fmt.Sprintf("cannot allocate %d bytes for a strip of %s", t.Bytes*4, t.Source))
		}
		j.note(ctx, "%d px: %d KB", size, size*size/4000+4)
		_ = j.UpdateProgress(ctx, 100*(i+1)/len(t.Sizes))
	}
	return map[string]any{"files": len(t.Sizes), "format": t.Format}, nil
}

func syncPartner(ctx context.Context, j *demoJob) (any, error) {
	var s partnerSync
	if err := json.Unmarshal(j.Data, &s); err != nil {
		return nil, engine.Unrecoverable(fmt.Errorf("partner sync: %w", err))
	}
	if j.chance(0.05) && j.AttemptsStarted == 1 {
		j.note(ctx, "%s answered 429 Too Many Requests, Retry-After: 4", s.Partner)
		return nil, engine.RateLimit(j.demo.scaled(4 * time.Second))
	}
	changed := 0
	for page := 1; page <= s.Pages; page++ {
		if err := j.takes(ctx, 300*time.Millisecond, 1100*time.Millisecond); err != nil {
			return nil, err
		}
		if j.chance(0.02) {
			return nil, demoFailure("api."+s.Partner+".example", pick(j.rand,
				"504 Gateway Timeout", "read ECONNRESET", fmt.Sprintf("page %d: unexpected token < in JSON at position 0", page)))
		}
		rows := 20 + j.rand.IntN(80)
		changed += rows
		j.note(ctx, "page %d of %d: %d records", page, s.Pages, rows)
		_ = j.UpdateProgress(ctx, map[string]int{"page": page, "of": s.Pages})
	}
	return map[string]any{"partner": s.Partner, "changed": changed}, nil
}

// endpoint is a customer's server and how well it does.
type endpoint struct {
	url string
	// failing is the share of attempts that fail, gone the share of jobs it wants never again.
	failing, gone float64
	reasons       []string
}

// endpoints are listed as often as they are called.
var endpoints = []endpoint{
	{url: "https://hooks.northwind.example/orders", failing: 0.05, reasons: []string{"502 Bad Gateway"}},
	{url: "https://hooks.northwind.example/orders", failing: 0.05, reasons: []string{"502 Bad Gateway"}},
	{url: "https://api.papelaria-sul.example/eventos", failing: 0.1, reasons: []string{"attempt timed out after 10s"}},
	{url: "https://api.papelaria-sul.example/eventos", failing: 0.1, reasons: []string{"attempt timed out after 10s"}},
	{url: "https://events.brewline.example/in", failing: 0.35, reasons: []string{"503 Service Unavailable", "read ECONNRESET", "503 Service Unavailable"}},
	{url: "https://203.0.113.24/ingest", failing: 0.7, reasons: []string{"connect ECONNREFUSED 203.0.113.24:443", "certificate has expired"}},
	{url: "https://old.acme-tools.example/cb", failing: 0.2, gone: 0.3, reasons: []string{"410 Gone", "401 Unauthorized: signature mismatch"}},
}

func deliverWebhook(ctx context.Context, j *demoJob) (any, error) {
	var w webhook
	if err := json.Unmarshal(j.Data, &w); err != nil {
		return nil, engine.Unrecoverable(fmt.Errorf("webhook: %w", err))
	}
	if err := j.takes(ctx, 50*time.Millisecond, 450*time.Millisecond); err != nil {
		return nil, err
	}
	for _, e := range endpoints {
		if e.url == w.URL {
			return e.answer(ctx, j, w)
		}
	}
	return map[string]any{"status": 200}, nil
}

// answer is what the endpoint says to one delivery.
func (e endpoint) answer(ctx context.Context, j *demoJob, w webhook) (any, error) {
	host := hostOf(e.url)
	if j.chance(e.gone) {
		return nil, engine.Unrecoverable(demoFailure(host, pick(j.rand, e.reasons...)))
	}
	if !j.chance(e.failing) {
		j.note(ctx, "POST %s: 200 OK", host)
		return map[string]any{"status": 200, "eventId": w.EventID}, nil
	}
	if j.chance(0.1) {
		return nil, demoFailure(host, fmt.Sprintf("duplicate key %q in shard-%d", w.EventID, j.rand.IntN(8)))
	}
	reason := pick(j.rand, e.reasons...)
	j.note(ctx, "POST %s: %s", host, reason)
	if strings.HasPrefix(reason, "503") && j.chance(0.3) {
		return nil, engine.RetryAfter(j.demo.scaled(3*time.Second), demoFailure(host, reason))
	}
	return nil, demoFailure(host, reason)
}

func sendReminder(ctx context.Context, j *demoJob) (any, error) {
	if err := j.takes(ctx, 20*time.Millisecond, 80*time.Millisecond); err != nil {
		return nil, err
	}
	if j.chance(0.02) {
		return nil, demoFailure("push.example", "device token is not registered")
	}
	return map[string]any{"delivered": pick(j.rand, "push", "push", "sms")}, nil
}

// demoFailure is a failed call as the HTTP worker would report it.
func demoFailure(host, reason string) error {
	return &failure{reason: reason, trace: "Error: " + reason + "\n    at POST " + host}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}
