package config

import (
	"path"
	"strings"
)

// Masker reports whether a JSON key matches one of the patterns ("*" any text, "?" one character). Case, '-' and '_' do
// not count, so that api_key also hides apiKey and API-Key.
func Masker(patterns []string) func(key string) bool {
	plain := strings.NewReplacer("-", "", "_", "")
	fold := func(s string) string { return plain.Replace(strings.ToLower(s)) }
	folded := make([]string, len(patterns))
	for i, p := range patterns {
		folded[i] = fold(p)
	}
	return func(key string) bool {
		key = strings.ReplaceAll(fold(key), "/", "")
		for _, p := range folded {
			if ok, err := path.Match(p, key); ok && err == nil {
				return true
			}
		}
		return false
	}
}
