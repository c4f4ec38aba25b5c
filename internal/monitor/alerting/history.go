package alerting

import (
	"math"
	"time"
)

// lookback is how old a sample may be and still count as the present value.
const lookback = 5 * time.Minute

// point is one sample: milliseconds since the epoch, and a value; NaN marks the end of a series.
type point struct {
	at int64
	v  float64
}

// run is n samples of the same value, step milliseconds apart.
type run struct {
	from, step int64
	n          int32
	v          float64
}

func (r run) last() int64 { return r.from + int64(r.n-1)*r.step }

// history is the past of one series.
type history struct {
	labels Labels
	runs   []run
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// append adds a sample that is later than all before.
func (h *history) append(at int64, v float64) {
	if len(h.runs) > 0 {
		r := &h.runs[len(h.runs)-1]
		step := at - r.last()
		if same(r.v, v) && (r.n == 1 || r.step == step) {
			r.step = step
			r.n++
			return
		}
	}
	h.runs = append(h.runs, run{from: at, n: 1, v: v})
}

// end marks that the series has no value at a time, unless it had none before.
func (h *history) end(at int64) {
	if len(h.runs) > 0 && !math.IsNaN(h.runs[len(h.runs)-1].v) {
		h.append(at, math.NaN())
	}
}

// lastAt is the time of the last sample, 0 if there is none.
func (h *history) lastAt() int64 {
	if len(h.runs) == 0 {
		return 0
	}
	return h.runs[len(h.runs)-1].last()
}

// trim forgets runs that ended before a time.
func (h *history) trim(before int64) {
	i := 0
	for i < len(h.runs) && h.runs[i].last() < before {
		i++
	}
	if i > 0 {
		h.runs = append(h.runs[:0], h.runs[i:]...)
	}
}

// at returns the value at a time: the last sample that is not too old, if the series had not ended.
func (h *history) at(t int64) (float64, bool) {
	for i := len(h.runs) - 1; i >= 0; i-- {
		r := h.runs[i]
		if r.from > t {
			continue
		}
		last := r.last()
		if last > t {
			last = r.from + (t-r.from)/r.step*r.step
		}
		if math.IsNaN(r.v) || last <= t-lookback.Milliseconds() {
			return 0, false
		}
		return r.v, true
	}
	return 0, false
}

// window appends the samples from start to end, both included, to buf.
func (h *history) window(start, end int64, buf []point) []point {
	for _, r := range h.runs {
		if math.IsNaN(r.v) || r.last() < start {
			continue
		}
		if r.from > end {
			break
		}
		k := int64(0)
		if r.from < start {
			k = (start - r.from + r.step - 1) / r.step
		}
		for ; k < int64(r.n) && r.from+k*r.step <= end; k++ {
			buf = append(buf, point{r.from + k*r.step, r.v})
		}
	}
	return buf
}

// store holds the histories of all series by name and labels.
type store struct {
	series map[string]map[string]*history
	keep   map[string]time.Duration // how far back a name is asked for; others are not kept
}

func (s *store) add(name string, labels Labels, at int64, v float64) {
	if _, wanted := s.keep[name]; !wanted {
		return
	}
	byLabels := s.series[name]
	if byLabels == nil {
		byLabels = map[string]*history{}
		s.series[name] = byLabels
	}
	key := labels.key()
	h := byLabels[key]
	if h == nil {
		h = &history{labels: labels}
		byLabels[key] = h
	}
	h.append(at, v)
}

// settle ends every series of a name that got no sample at a time, and forgets what nobody asks for any more.
func (s *store) settle(name string, at int64) {
	before := at - s.keep[name].Milliseconds()
	for key, h := range s.series[name] {
		if h.lastAt() < at {
			h.end(at)
		}
		if h.trim(before); len(h.runs) == 0 || math.IsNaN(h.runs[0].v) && len(h.runs) == 1 && h.runs[0].from < before {
			delete(s.series[name], key)
		}
	}
}
