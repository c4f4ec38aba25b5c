package scripts

import (
	"fmt"
	"strconv"
	"time"
)

// badReply is the error for a reply that the script cannot have given.
func badReply(name string, reply any) error {
	return fmt.Errorf("script %s: unexpected reply %T", name, reply)
}

// list reads a reply that is an array.
func list(reply any) []any {
	l, _ := reply.([]any)
	return l
}

// integer reads a number, which may also come as text, possibly with a fraction or an exponent.
func integer(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(v, 64)
		return int64(f)
	}
	return 0
}

// text reads a text.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// texts reads a list of texts.
func texts(reply any) []string {
	l := list(reply)
	out := make([]string, len(l))
	for i, v := range l {
		out[i] = text(v)
	}
	return out
}

// codes reads one code per job.
func codes(reply any) []Code {
	l := list(reply)
	out := make([]Code, len(l))
	for i, v := range l {
		out[i] = Code(integer(v))
	}
	return out
}

// pairs reads a list of fields and values.
func pairs(reply any) map[string]string {
	l := list(reply)
	out := make(map[string]string, len(l)/2)
	for i := 0; i+1 < len(l); i += 2 {
		out[text(l[i])] = text(l[i+1])
	}
	return out
}

// fetched reads the reply of a fetch.
func fetched(reply any) *Fetched {
	l := list(reply)
	f := &Fetched{}
	if len(l) < 2 {
		return f
	}
	f.LimitedFor = time.Duration(integer(l[0])) * time.Millisecond
	if due := integer(l[1]); due > 0 {
		f.NextDue = time.UnixMilli(due)
	}
	for i := 2; i+1 < len(l); i += 2 {
		f.Jobs = append(f.Jobs, Job{ID: text(l[i]), Fields: pairs(l[i+1])})
	}
	return f
}
