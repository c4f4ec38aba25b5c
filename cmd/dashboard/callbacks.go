package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"

	"bullpen/internal/engine/keys"
	"bullpen/internal/processor"
)

// usesCallbacks reports whether handlers get callback URLs: they need a public address and an HTTP worker.
func (w *workforce) usesCallbacks() bool {
	if w.server.config.PublicURL == "" || w.server.config.ReadOnly {
		return false
	}
	for _, q := range w.server.config.Queues {
		if q.Worker != nil && q.Worker.HTTP != nil {
			return true
		}
	}
	return false
}

// callback serves the callback URLs; nil when there are none.
func (w *workforce) callback() http.Handler {
	if !w.usesCallbacks() {
		return nil
	}
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if c := w.callbacks.Load(); c != nil {
			c.ServeHTTP(out, r)
			return
		}
		http.Error(out, "the workers have not started yet", http.StatusServiceUnavailable)
	})
}

func (w *workforce) buildCallbacks(ctx context.Context) error {
	if !w.usesCallbacks() || w.callbacks.Load() != nil {
		return nil
	}
	secret, err := w.server.secret(ctx)
	if err != nil {
		return err
	}
	sign := hmac.New(sha256.New, []byte(secret))
	sign.Write([]byte("callback"))
	c, err := processor.NewCallbacks(processor.CallbackOptions{
		URL: w.server.config.PublicURL, Key: sign.Sum(nil), Queue: w.server.queue,
	})
	if err != nil {
		return &unusableError{err}
	}
	w.callbacks.Store(c)
	return nil
}

// secret is what all replicas sign with: the configured key, else one that the first of them leaves in Redis.
func (s *server) secret(ctx context.Context) (string, error) {
	if key := s.config.Auth.SessionKey; key != "" {
		return key, nil
	}
	if err := s.store.Client().SetNX(ctx, keys.Secret, rand.Text(), 0).Err(); err != nil {
		return "", fmt.Errorf("keep the signing secret in redis: %w", err)
	}
	secret, err := s.store.Client().Get(ctx, keys.Secret).Result()
	if err != nil {
		return "", fmt.Errorf("read the signing secret: %w", err)
	}
	return secret, nil
}
