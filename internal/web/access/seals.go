package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"bullpen/internal/web"
)

// errOver is what a session that does not count gets; it does not say why, the user can only sign in again.
var errOver = errors.New("the session is over")

// seals signs what browsers keep for us, so that they can read it but not change it.
type seals struct {
	source func(context.Context) ([]byte, error)

	mu  sync.Mutex
	key []byte // nil until source has answered
}

// mac authenticates text for one purpose, so that what is signed for one cannot be used for another.
func (s *seals) mac(ctx context.Context, purpose, text string) (string, error) {
	key, err := s.get(ctx)
	if err != nil {
		return "", err
	}
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s\n%s", purpose, text)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)), nil
}

// get asks for the key outside the lock: while Redis does not answer, nobody waits for somebody else's question.
func (s *seals) get(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	key := s.key
	s.mu.Unlock()
	if key != nil {
		return key, nil
	}
	key, err := s.source(ctx)
	if err != nil {
		return nil, web.Refuse(http.StatusServiceUnavailable, "Sessions cannot be checked now",
			"The key they are signed with is in Redis, which does not answer. auth.session_key would make sessions independent of it.", err)
	}
	s.mu.Lock()
	s.key = key
	s.mu.Unlock()
	return key, nil
}

// seal writes v with a signature.
func (s *seals) seal(ctx context.Context, purpose string, v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("seal: %w", err)
	}
	payload := base64.RawURLEncoding.EncodeToString(raw)
	sum, err := s.mac(ctx, purpose, payload)
	return payload + "." + sum, err
}

// open reads into v what seal wrote for the same purpose; anything else is errOver.
func (s *seals) open(ctx context.Context, purpose, sealed string, v any) error {
	payload, sum, ok := strings.Cut(sealed, ".")
	if !ok {
		return errOver
	}
	want, err := s.mac(ctx, purpose, payload)
	if err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if !equal(sum, want) || err != nil || json.Unmarshal(raw, v) != nil {
		return errOver
	}
	return nil
}

// equal compares in a time that does not depend on where the texts differ.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
