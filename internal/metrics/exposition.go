package metrics

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// chunk is how much text is collected before it is written on.
const chunk = 64 << 10

// exposition writes families as text. It writes what expfmt writes, several times as fast: every metric of ours has
// proper names, and a line is appended without a call for each of its parts.
type exposition struct {
	w    io.Writer
	open bool // OpenMetrics
	buf  []byte
	err  error
}

// write writes all families, which have metrics.
func (e *exposition) write(families []*dto.MetricFamily) error {
	for _, f := range families {
		e.family(f)
	}
	if e.open {
		e.buf = append(e.buf, "# EOF\n"...)
	}
	e.flush(0)
	return e.err
}

// flush writes on what was collected if that is more than a size.
func (e *exposition) flush(most int) {
	if len(e.buf) <= most || e.err != nil {
		return
	}
	if _, err := e.w.Write(e.buf); err != nil {
		e.err = fmt.Errorf("write metrics: %w", err)
	}
	e.buf = e.buf[:0]
}

func (e *exposition) family(f *dto.MetricFamily) {
	switch f.GetType() {
	case dto.MetricType_COUNTER, dto.MetricType_GAUGE, dto.MetricType_HISTOGRAM:
	default: // only the runtime has others, and few
		e.rare(f)
		return
	}
	e.head(f)
	name := f.GetName()
	for _, m := range f.GetMetric() {
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			e.sample(name, "", m, math.NaN(), m.GetCounter().GetValue())
		case dto.MetricType_GAUGE:
			e.sample(name, "", m, math.NaN(), m.GetGauge().GetValue())
		default:
			e.histogram(name, m)
		}
		e.flush(chunk)
	}
}

func (e *exposition) rare(f *dto.MetricFamily) {
	var b bytes.Buffer
	write := expfmt.MetricFamilyToText
	if e.open {
		write = func(w io.Writer, f *dto.MetricFamily) (int, error) { return expfmt.MetricFamilyToOpenMetrics(w, f) }
	}
	if _, err := write(&b, f); err != nil && e.err == nil {
		e.err = fmt.Errorf("write %s: %w", f.GetName(), err)
	}
	e.buf = append(e.buf, b.Bytes()...)
}

// head writes what a family is. In OpenMetrics the name of a counter there lacks its suffix.
func (e *exposition) head(f *dto.MetricFamily) {
	name, kind := f.GetName(), strings.ToLower(f.GetType().String())
	if f.GetType() == dto.MetricType_COUNTER && e.open {
		if short, ok := strings.CutSuffix(name, "_total"); ok {
			name = short
		} else {
			kind = "unknown"
		}
	}
	e.buf = append(append(append(e.buf, "# HELP "...), name...), ' ')
	e.buf = append(appendEscaped(e.buf, f.GetHelp(), e.open), '\n')
	e.buf = append(append(append(append(append(e.buf, "# TYPE "...), name...), ' '), kind...), '\n')
}

func (e *exposition) histogram(name string, m *dto.Metric) {
	h := m.GetHistogram()
	closed := false
	for _, b := range h.GetBucket() {
		e.whole(name, "_bucket", m, b.GetUpperBound(), b.GetCumulativeCount(), b.GetExemplar())
		closed = closed || math.IsInf(b.GetUpperBound(), 1)
	}
	if !closed {
		e.whole(name, "_bucket", m, math.Inf(1), h.GetSampleCount(), nil)
	}
	e.sample(name, "_sum", m, math.NaN(), h.GetSampleSum())
	e.whole(name, "_count", m, math.NaN(), h.GetSampleCount(), nil)
}

// sample writes a line. le is the upper bound of a bucket, NaN for anything else.
func (e *exposition) sample(name, suffix string, m *dto.Metric, le, value float64) {
	e.series(name, suffix, m.GetLabel(), le)
	e.buf = append(e.number(value), '\n')
}

// whole writes the line of a count.
func (e *exposition) whole(name, suffix string, m *dto.Metric, le float64, n uint64, x *dto.Exemplar) {
	e.series(name, suffix, m.GetLabel(), le)
	if !e.open {
		e.buf = append(e.number(float64(n)), '\n')
		return
	}
	e.buf = strconv.AppendUint(e.buf, n, 10)
	if len(x.GetLabel()) > 0 {
		e.series(" # ", "", x.GetLabel(), math.NaN())
		e.buf = append(e.number(x.GetValue()), ' ')
		e.buf = e.number(float64(x.GetTimestamp().AsTime().UnixNano()) / 1e9)
	}
	e.buf = append(e.buf, '\n')
}

// series writes a name, its labels and a space.
func (e *exposition) series(name, suffix string, labels []*dto.LabelPair, le float64) {
	e.buf = append(append(e.buf, name...), suffix...)
	sep := byte('{')
	for _, l := range labels {
		e.buf = append(append(append(e.buf, sep), l.GetName()...), '=', '"')
		e.buf = append(appendEscaped(e.buf, l.GetValue(), true), '"')
		sep = ','
	}
	if !math.IsNaN(le) {
		e.buf = append(append(e.buf, sep), `le="`...)
		e.buf = append(e.number(le), '"')
		sep = ','
	}
	if sep == ',' {
		e.buf = append(e.buf, '}')
	}
	e.buf = append(e.buf, ' ')
}

// number appends a number; in OpenMetrics it shows that it is no integer.
func (e *exposition) number(v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(e.buf, "+Inf"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e6: // the same text, made faster
		e.buf = strconv.AppendInt(e.buf, int64(v), 10)
	default:
		begin := len(e.buf)
		e.buf = strconv.AppendFloat(e.buf, v, 'g', -1, 64)
		if bytes.ContainsAny(e.buf[begin:], ".eIN") {
			return e.buf
		}
	}
	if e.open {
		return append(e.buf, ".0"...)
	}
	return e.buf
}

// appendEscaped appends text with backslashes and line ends escaped, and quotes if wanted.
func appendEscaped(b []byte, text string, quotes bool) []byte {
	from := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			b = append(append(b, text[from:i]...), '\\', 'n')
		case c == '\\', c == '"' && quotes:
			b = append(append(b, text[from:i]...), '\\', c)
		default:
			continue
		}
		from = i + 1
	}
	return append(b, text[from:]...)
}
