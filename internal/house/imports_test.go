package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule is what the packages of one part of the house may import beside the standard library: packages of ours, without
// the module's name, and other modules, by the start of their path. "x/..." is x and everything below it.
type rule struct{ ours, modules []string }

const (
	goRedis    = "github.com/redis/go-redis/v9"
	prometheus = "github.com/prometheus/"
	bcrypt     = "golang.org/x/crypto/bcrypt"
)

// rules has one entry for each part; the longest name that matches counts.
var rules = map[string]rule{
	"cmd/dashboard": {
		ours: []string{
			"internal/config", "internal/store", "internal/engine/...", "internal/processor", "internal/monitor/...",
			"internal/telemetry", "internal/metrics", "internal/doctor", "internal/livepolicy", "internal/audit", "internal/web/...",
			"internal/notify", "internal/outside", "alerts",
		},
		modules: []string{bcrypt},
	},

	// The engine stands alone: it is to become a library.
	"internal/engine":          {ours: []string{"internal/engine/..."}, modules: []string{goRedis, "github.com/google/uuid"}},
	"internal/engine/scripts":  {ours: []string{"internal/engine/keys"}, modules: []string{goRedis}},
	"internal/engine/presence": {ours: []string{"internal/engine/keys"}, modules: []string{goRedis}},
	"internal/engine/keys":     {},
	"internal/engine/cron":     {},
	"internal/engine/policy":   {},

	"internal/config": {
		ours:    []string{"internal/engine/keys", "internal/engine/policy"},
		modules: []string{"go.yaml.in/yaml/v4", bcrypt},
	},
	"internal/store": {modules: []string{goRedis, "github.com/alicebob/miniredis/v2"}},
	"internal/processor": {
		ours:    []string{"internal/engine/..."},
		modules: []string{goRedis, "github.com/standard-webhooks/standard-webhooks/libraries/go"},
	},
	"internal/livepolicy":       {ours: []string{"internal/engine/..."}, modules: []string{goRedis}},
	"internal/monitor":          {ours: []string{"internal/engine/...", "internal/monitor/...", "internal/words", "alerts"}, modules: []string{goRedis}},
	"internal/monitor/alerting": {ours: []string{"alerts"}},
	"internal/outside":          {ours: []string{"alerts"}},
	"internal/notify": {
		ours:    []string{"alerts", "internal/engine/keys", "internal/monitor/alerting"},
		modules: []string{goRedis},
	},
	"internal/telemetry": {ours: []string{"internal/engine"}, modules: []string{"go.opentelemetry.io/"}},
	"internal/metrics": {
		ours:    []string{"internal/engine/...", "internal/monitor", "internal/words"},
		modules: []string{prometheus},
	},
	"internal/doctor": {
		ours:    []string{"internal/config", "internal/engine/...", "internal/monitor", "internal/words"},
		modules: []string{goRedis},
	},

	"internal/web": {
		ours: []string{
			"internal/engine", "internal/engine/keys", "internal/engine/policy", "internal/engine/cron", "internal/monitor",
			"internal/monitor/alerting", "internal/notify", "internal/outside", "internal/livepolicy", "internal/failures", "internal/search", "internal/fold", "internal/audit",
			"internal/words", "internal/web/...", "templates", "static", "alerts", "docs/runbooks",
		},
		modules: []string{"github.com/labstack/echo/v4", "github.com/a-h/templ", "github.com/yuin/goldmark"},
	},
	"internal/web/access": {
		ours:    []string{"internal/web"},
		modules: []string{bcrypt, "github.com/coreos/go-oidc/v3/oidc", "golang.org/x/oauth2"},
	},
	"internal/web/chart":          {},
	"internal/web/jsonview":       {},
	"internal/web/openapi":        {},
	"internal/web/operation":      {},
	"internal/web/operation/book": {ours: []string{"internal/web/operation", "internal/engine/keys"}, modules: []string{goRedis}},
	"templates":                   {modules: []string{"github.com/a-h/templ"}},
	"static":                      {},
	"alerts":                      {ours: []string{"alerts"}},
	"docs/runbooks":               {},
	"internal/words":              {},
	"internal/audit":              {ours: []string{"internal/engine/keys"}, modules: []string{goRedis}},
	"internal/fold":               {},
	"internal/failures":           {ours: []string{"internal/engine", "internal/engine/keys", "internal/fold"}},
	"internal/search":             {ours: []string{"internal/engine", "internal/engine/keys", "internal/fold"}},

	// Only tests import these.
	"internal/testbullpen":  {},
	"internal/testredis":    {modules: []string{goRedis, "github.com/alicebob/miniredis/v2"}},
	"internal/testnode":     {},
	"internal/interop":      {},
	"internal/e2e":          {},
	"internal/e2e/alerting": {},
	"internal/judge":        {},
	"internal/browser":      {},
	"internal/house":        {},
}

const module = "bullpen/"

func TestImports(t *testing.T) {
	t.Parallel()
	for name, imports := range listed(t) {
		r, ok := ruleFor(name)
		require.True(t, ok, "package %s has no rule", name)
		for _, path := range imports {
			if ours, found := strings.CutPrefix(path, module); found {
				require.True(t, allowed(r.ours, ours), "%s must not import %s", name, ours)
			} else if isModule(path) {
				require.True(t, slices.ContainsFunc(r.modules, func(m string) bool { return strings.HasPrefix(path, m) }),
					"%s must not import %s", name, path)
			}
		}
	}
}

// TestRulesAreUsed keeps rules for packages that are gone from piling up.
func TestRulesAreUsed(t *testing.T) {
	t.Parallel()
	packages := listed(t)
	for name := range rules {
		_, there := packages[name]
		require.True(t, there, "there is no package %s", name)
	}
}

// listed returns the direct imports of every package of the module, tests left out.
func listed(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"...").CombinedOutput()
	require.NoError(t, err, string(out))
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		packages[strings.TrimPrefix(words[0], module)] = words[1:]
	}
	return packages
}

// ruleFor finds the rule of a package, or of the nearest part of the house around it.
func ruleFor(name string) (rule, bool) {
	for {
		if r, ok := rules[name]; ok {
			return r, true
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return rule{}, false
		}
		name = name[:i]
	}
}

func allowed(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		root, below := strings.CutSuffix(p, "/...")
		return name == root || (below && strings.HasPrefix(name, root+"/"))
	})
}

// isModule tells other modules from the standard library by the dot in their first part.
func isModule(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".")
}
