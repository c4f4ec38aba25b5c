package processor

import (
	"fmt"
	"math/rand/v2"
	"time"

	"bullpen/internal/engine"
)

// pick returns one of the choices.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// hexID is n hexadecimal digits.
func hexID(r *rand.Rand, n int) string { return fmt.Sprintf("%016x", r.Uint64())[:n] }

// aPerson is an address that belongs to nobody.
func aPerson(r *rand.Rand) string {
	return fmt.Sprintf("%s.%s@%s",
		pick(r, "ada", "bruno", "chloé", "dilip", "emre", "farah", "greta", "hiro", "ines", "jonas", "kofi", "lena"),
		pick(r, "almeida", "bauer", "chen", "dubois", "eriksen", "fofana", "garcia", "haddad"),
		pick(r, "example.com", "example.org", "mail.example", "firma.example"))
}

type email struct {
	To       string  `json:"to"`
	Template string  `json:"template"`
	Locale   string  `json:"locale"`
	OrderID  int     `json:"orderId,omitempty"`
	Total    float64 `json:"total,omitempty"`
	Currency string  `json:"currency,omitempty"`
	Token    string  `json:"token,omitempty"`
}

func makeEmails(r *rand.Rand) []engine.JobSpec {
	e := email{To: aPerson(r), Locale: pick(r, "en-GB", "de-DE", "fr-FR", "pt-BR")}
	o := engine.JobOptions{}
	switch n := r.IntN(10); {
	case n < 1:
		e.Template, e.Token, o.Priority = "password-reset", hexID(r, 16), 1
	case n < 4:
		e.Template = pick(r, "welcome", "weekly-digest")
	default:
		e.Template = pick(r, "receipt", "shipping-notice", "invoice")
		e.OrderID, e.Total, e.Currency = 400_000+r.IntN(90_000), float64(r.IntN(30_000))/100, pick(r, "EUR", "GBP", "BRL")
	}
	return []engine.JobSpec{{Name: e.Template, Data: e, Options: o}}
}

type thumbnail struct {
	Source string `json:"source"`
	Bytes  int    `json:"bytes"`
	Sizes  []int  `json:"sizes"`
	Format string `json:"format"`
}

// makeThumbnails is an album that somebody uploaded.
func makeThumbnails(r *rand.Rand) []engine.JobSpec {
	album := hexID(r, 8)
	specs := make([]engine.JobSpec, 8+r.IntN(25))
	for i := range specs {
		extension := pick(r, "jpg", "jpg", "jpg", "png", "webp", "heic")
		specs[i] = engine.JobSpec{Name: pick(r, "resize", "resize", "resize", "watermark"), Data: thumbnail{
			Source: fmt.Sprintf("s3://uploads/%s/IMG_%04d.%s", album, 1000+i, extension),
			Bytes:  400_000 + r.IntN(9_000_000), Sizes: []int{96, 320, 1280}, Format: "webp",
		}}
	}
	return specs
}

type partnerSync struct {
	Partner string    `json:"partner"`
	Since   time.Time `json:"since"`
	Pages   int       `json:"pages"`
}

func makeSync(r *rand.Rand) []engine.JobSpec {
	return []engine.JobSpec{{Name: pick(r, "sync-orders", "sync-inventory", "sync-prices"), Data: partnerSync{
		Partner: pick(r, "northwind", "brewline", "acme-tools", "papelaria-sul"),
		Since:   time.Now().Add(-time.Hour).UTC().Truncate(time.Second),
		Pages:   2 + r.IntN(6),
	}}}
}

// webhook is one delivery to a customer's endpoint.
type webhook struct {
	URL     string         `json:"url"`
	Event   string         `json:"event"`
	EventID string         `json:"eventId"`
	Payload map[string]any `json:"payload"`
}

func makeWebhooks(r *rand.Rand) []engine.JobSpec {
	event := pick(r, "order.paid", "order.refunded", "customer.updated", "invoice.overdue")
	return []engine.JobSpec{{Name: "deliver", Data: webhook{
		URL: pick(r, endpoints...).url, Event: event, EventID: "evt_" + hexID(r, 14),
		Payload: map[string]any{"id": 400_000 + r.IntN(90_000), "status": pick(r, "open", "paid", "closed"), "livemode": true},
	}}}
}

type reminder struct {
	UserID int    `json:"userId"`
	Kind   string `json:"kind"`
	Text   string `json:"text"`
}

// makeReminders wait between seconds and minutes.
func makeReminders(r *rand.Rand) []engine.JobSpec {
	kind := pick(r, "appointment", "cart-abandoned", "trial-ending")
	delay := time.Duration(3+r.IntN(30)) * time.Second
	if r.IntN(3) == 0 {
		delay += time.Duration(r.IntN(240)) * time.Second
	}
	return []engine.JobSpec{{
		Name: kind,
		Data: reminder{UserID: 10_000 + r.IntN(5000), Kind: kind, Text: pick(r, "Tomorrow at 09:30", "Still interested?", "3 days left")},
		// Half of them can be replaced by the user, so they have an id of their own.
		Options: engine.JobOptions{Delay: delay, ID: pick(r, "", "reminder-"+hexID(r, 10))},
	}}
}
