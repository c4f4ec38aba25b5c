package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// chromium is a running browser. Every tab of it has cookies and storage of its own.
type chromium struct {
	ctx  context.Context
	quit func()
}

func openChromium() (*chromium, error) {
	path, err := chromiumPath()
	if err != nil {
		return nil, err
	}
	allocator, quit := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("font-render-hinting", "none"))...)
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		quit()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return &chromium{ctx, func() { cancel(); quit() }}, nil
}

func chromiumPath() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("chromium is not installed; install it with: apt-get install -y chromium")
}

func (c *chromium) close() { c.quit() }

// tab is a page in the browser. What it writes to its console counts as a fault unless a test expects it.
type tab struct {
	t     *testing.T
	ctx   context.Context
	base  string // address of the dashboard, with a slash at the end
	plain bool   // without script
	// patience bounds every wait for something on the page.
	patience time.Duration

	mu      sync.Mutex
	console []string
}

// look is how a page is looked at. The zero value is a desk: a wide window, light, with script.
type look struct {
	width, height int64
	dark, plain   bool // plain has no script
}

var (
	desk  = look{width: 1280, height: 800}
	phone = look{width: 360, height: 740}
	plain = look{plain: true}
)

// tab opens an empty page that ends with the test. At the end its console must be empty.
func (c *chromium) tab(t *testing.T, base string, l look) *tab {
	t.Helper()
	p := &tab{t: t, base: base, plain: l.plain, patience: patience}
	ctx, cancel := chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.listen))
	p.ctx = ctx
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the page at the end, %s:\n%s", p.address(), p.text())
		}
		cancel()
		require.Empty(t, p.complaints(), "the console must be empty")
	})
	// The tab lives as long as the context of the first call, so that one has no deadline.
	require.NoError(t, chromedp.Do(ctx))
	if l.width == 0 {
		l.width, l.height = desk.width, desk.height
	}
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	p.do(chromedp.EmulateViewport(l.width, l.height))
	p.scheme(scheme)
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.plain})
	require.NoError(t, err)
	return p
}

// scheme changes between light and dark.
func (p *tab) scheme(name string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	require.NoError(p.t, err)
}

// listen keeps what the page writes to its console: errors, warnings, exceptions, violations of the content policy.
func (p *tab) listen(event any) {
	var line string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		line = "exception: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			line += " " + x.Description
		}
	case *runtime.EventConsoleAPICalled:
		line = "console." + string(e.Type)
		for _, a := range e.Args {
			line += " " + string(a.Value) + a.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Level != log.EntryLevelError && e.Entry.Level != log.EntryLevelWarning {
			return
		}
		line = fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.console = append(p.console, line)
}

func (p *tab) complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.console
}

// expect forgets what the console says of answers with a status that the test has caused.
func (p *tab) expect(status string) { p.forget("the server responded with a status of " + status) }

// expectCut forgets what the console says of connections that the test has cut.
func (p *tab) expectCut() { p.forget("Failed to load resource: net::ERR_") }

func (p *tab) forget(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.console = slices.DeleteFunc(p.console, func(line string) bool { return strings.Contains(line, text) })
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, steps...))
}

// eval returns what a script says. It works in pages whose own script is off.
func eval[T any](p *tab, script string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// must is eval for scripts that cannot fail.
func must[T any](p *tab, script string) T {
	p.t.Helper()
	v, err := eval[T](p, script)
	require.NoError(p.t, err, script)
	return v
}

// until waits until a script is true. While a page is being replaced its answers do not count.
func (p *tab) until(what, script string) {
	p.t.Helper()
	deadline := time.Now().Add(p.patience)
	for {
		ok, err := eval[bool](p, "!!("+script+")")
		if ok && err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("not within %s: %s (%v)", p.patience, what, err)
		}
		time.Sleep(25 * time.Millisecond)
	}
}
