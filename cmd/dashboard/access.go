package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web"
	"bullpen/internal/web/access"
)

// keyTimeout bounds the question for the key of sessions.
const keyTimeout = 2 * time.Second

// login makes what tells who uses the dashboard; nil when everybody may.
func (s *server) login() (web.Authenticator, error) {
	auth := s.config.Auth
	if !auth.Configured() {
		return nil, nil //nolint:nilnil // no login is a configuration like any other
	}
	o := access.Options{
		Key: s.sessionKey, BasePath: s.config.BasePath, Secure: strings.HasPrefix(s.config.PublicURL, "https:"), Logger: s.log,
	}
	for _, u := range auth.Users {
		o.Users = append(o.Users, access.User{Name: u.Name, Hash: []byte(u.PasswordHash), Role: web.ParseRole(u.Role), Queues: u.Queues})
	}
	for _, t := range auth.Tokens {
		token := access.Token{Name: t.Name, Role: web.ParseRole(t.Role), Queues: t.Queues}
		if _, err := hex.Decode(token.Sum[:], []byte(t.TokenHash)); err != nil {
			return nil, fmt.Errorf("token_hash of %s: %w", t.Name, err)
		}
		o.Tokens = append(o.Tokens, token)
	}
	if p := auth.Proxy; p != nil && p.Header != "" {
		o.Proxy = &access.Proxy{Header: p.Header, RolesHeader: p.RolesHeader}
	}
	var err error
	if o.Trusted, err = s.trustedProxies(); err != nil {
		return nil, err
	}
	if p := auth.OIDC; p != nil {
		o.Provider = s.signInProvider(p)
	}
	return access.New(o)
}

func (s *server) signInProvider(o *config.OIDC) *access.Provider {
	roles := map[string]web.Grant{}
	for value, grant := range o.RoleMap {
		roles[value] = web.Grant{Role: web.ParseRole(grant.Role), Queues: grant.Queues}
	}
	return &access.Provider{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: s.config.PublicURL + "/oidc/callback",
		RolesClaim: o.RolesClaim, RoleMap: roles,
	}
}

// trustedProxies are the proxies that tell where requests come from.
func (s *server) trustedProxies() ([]netip.Prefix, error) {
	if s.config.Auth.Proxy == nil {
		return nil, nil
	}
	return networks(s.config.Auth.Proxy.Trusted)
}

// networks reads addresses and ranges; an address is a range of one.
func networks(texts []string) (out []netip.Prefix, err error) {
	for _, text := range texts {
		n, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("trusted address: %w", err)
			}
			n = netip.PrefixFrom(a, a.BitLen())
		}
		out = append(out, n.Masked())
	}
	return out, nil
}

// sessionKey is what sessions are signed with.
func (s *server) sessionKey(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	secret, err := s.sharedSecret(ctx)
	if err != nil {
		return nil, err
	}
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte("session"))
	return m.Sum(nil), nil
}

// sharedSecret is secret for a process that may be read-only: where no other replica has left a secret it makes one of
// its own, with which its sessions end when it does.
func (s *server) sharedSecret(ctx context.Context) (string, error) {
	if !s.config.ReadOnly || s.config.Auth.SessionKey != "" {
		return s.secret(ctx)
	}
	found, err := s.store.Client().MGet(ctx, keys.Secret).Result()
	if err != nil {
		return "", fmt.Errorf("read the signing secret: %w", err)
	}
	if secret, ok := found[0].(string); ok {
		return secret, nil
	}
	return rand.Text(), nil
}
