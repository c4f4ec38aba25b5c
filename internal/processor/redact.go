package processor

import (
	"net/url"
	"slices"
	"strings"
)

// secretLength is the shortest text that is hidden as a secret; shorter ones are part of every sentence.
const secretLength = 4

// redactor hides what the operator configured as a secret wherever a server echoes it: the URL's credentials and query
// values, the signing secret and headers that carry a credential.
func redactor(u *url.URL, secret string, headers map[string]string) *strings.Replacer {
	secrets := []string{secret, strings.TrimPrefix(secret, "whsec_")}
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, u.User.String(), u.User.Username()+":"+password, password)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			secrets = append(secrets, v, url.QueryEscape(v))
		}
	}
	for name, value := range headers {
		if carriesCredential(name) {
			_, credential, _ := strings.Cut(value, " ") // "Bearer …"
			secrets = append(secrets, value, credential)
		}
	}
	// The longest first, so that no part of one is left over.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		if len(s) >= secretLength {
			pairs = append(pairs, s, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}

func carriesCredential(header string) bool {
	header = strings.ToLower(header)
	return slices.ContainsFunc([]string{"auth", "cookie", "key", "secret", "token"}, func(part string) bool {
		return strings.Contains(header, part)
	})
}
