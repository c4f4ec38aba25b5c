package judge

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// figure is one line of the table.
type figure struct {
	what, measured, target string
	missed                 bool
}

func (f figure) line() string {
	verdict := ""
	switch {
	case f.target == "":
	case f.missed:
		verdict = "**missed**"
	default:
		verdict = "met"
	}
	return "| " + strings.Join([]string{f.what, f.measured, f.target, verdict}, " | ") + " |"
}

// report gathers the figures. Times count only when everything has its full size: at a small one they say nothing.
type report struct {
	timed   bool
	figures []figure
}

// note adds a figure that has no target.
func (r *report) note(what, format string, args ...any) {
	r.figures = append(r.figures, figure{what: what, measured: fmt.Sprintf(format, args...)})
}

// bound adds a figure that must stay below a target at every size.
func (r *report) bound(what, target string, met bool, format string, args ...any) {
	r.figures = append(r.figures, figure{what, fmt.Sprintf(format, args...), target, !met})
}

// within adds the time that most requests took; a target of 0 is none.
func (r *report) within(what string, l latencies, target time.Duration) {
	f := figure{what: what, measured: fmt.Sprintf("median %s, p99 %s", milli(l.at(0.5)), milli(l.at(0.99)))}
	if target > 0 {
		f.target = "under " + milli(target)
		f.missed = r.timed && l.at(0.5) >= target
	}
	r.figures = append(r.figures, f)
}

func (r *report) judge(t *testing.T) {
	for _, f := range r.figures {
		if f.missed {
			t.Errorf("missed: %s", f.line())
		}
	}
}

// The figures stand between these lines.
const begin, end = "<!-- figures -->\n", "<!-- end of figures -->\n"

// write puts the figures into a document.
func (r *report) write(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has no line %q", path, begin)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has no line %q", path, end)
	var b strings.Builder
	fmt.Fprintf(&b, "\nMeasured on %s, on %s.\n\n", time.Now().Format("2 January 2006"), machine(t))
	b.WriteString("| What | Measured | Target | |\n| --- | --- | --- | --- |\n")
	for _, f := range r.figures {
		b.WriteString(f.line() + "\n")
	}
	require.NoError(t, os.WriteFile(path, []byte(before+begin+b.String()+"\n"+end+after), 0o644))
}

// machine says what the figures were measured on.
func machine(t *testing.T) string {
	t.Helper()
	cpu := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(info), "model name"); ok {
			name, _, _ := strings.Cut(rest, "\n")
			cpu = strings.Trim(name, "\t :")
		}
	}
	version := strings.Fields(output(t, "redis-server", "--version"))
	return fmt.Sprintf("%d cores of %s, %s, Redis %s, program, server and client together", runtime.NumCPU(), cpu, runtime.Version(), strings.TrimPrefix(version[2], "v="))
}

func milli(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.0f ms", float64(d)/1e6)
}
