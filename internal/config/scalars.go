package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes.
type Size int64

// expand replaces ${NAME} by the variable's value and ${file:PATH} by the file's content without its last newline.
// "$${" stands for a literal "${".
func expand(s string, env func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return "", errors.New("has a ${ without a closing brace; a literal ${ is written $${") // without the text, which may be a secret
		}
		value, err := reference(s[i+2:i+end], env)
		if err != nil {
			return "", err
		}
		b.WriteString(s[:i] + value)
		s = s[i+end+1:]
	}
}

func reference(name string, env func(string) (string, bool)) (string, error) {
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("${%s}: %w", name, err)
		}
		return strings.TrimRight(string(content), "\r\n"), nil
	}
	value, ok := env(name)
	if !ok {
		return "", fmt.Errorf("${%s} is not defined in the environment", name)
	}
	return value, nil
}

// parseDuration accepts Go's notation and whole or fractional days ("7d").
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if hours := n * 24; err == nil && math.Abs(hours) < float64(math.MaxInt64/time.Hour) {
			return time.Duration(hours * float64(time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(s)
	if err == nil {
		return d, nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, fmt.Errorf("%q needs a unit, such as %ss", s, s)
	}
	return 0, fmt.Errorf("%q is not a duration, such as 500ms, 10s, 5m, 168h or 7d", s)
}

// parseSize accepts bytes and the units kB, KB, KiB, MB, MiB, GB, GiB; all are powers of 1024.
func parseSize(s string) (Size, error) {
	digits := strings.TrimRight(s, "BbIiKkMmGg")
	shift, known := map[string]int{
		"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30,
	}[strings.ToLower(s[len(digits):])]
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if !known || err != nil || n <= 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is not a size, such as 65536 or 1MB", s)
	}
	return Size(n << shift), nil
}

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

// parseInt reads a whole number of at least the tag's min (1 unless given) and at most its max.
func parseInt(s string, tag reflect.StructTag) (int64, error) {
	low, high := bound(tag, "min", 1), bound(tag, "max", math.MaxInt32)
	i, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && float64(i) > high:
		return 0, fmt.Errorf("%s is too large: at most %.0f", s, high)
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number", s)
	case float64(i) < low:
		return 0, fmt.Errorf("%d is too small: at least %.0f", i, low)
	}
	return i, nil
}

// parseFloat reads a finite number above 0 (from 0 on with min:"0") and at most the tag's max.
func parseFloat(s string, tag reflect.StructTag) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is not a finite number", s)
	}
	_, zero := tag.Lookup("min")
	if high := bound(tag, "max", math.MaxFloat64); f < 0 || f > high || (f == 0 && !zero) {
		return 0, fmt.Errorf("%s is not between 0 and %.3g", s, high)
	}
	return f, nil
}

func bound(tag reflect.StructTag, name string, otherwise float64) float64 {
	if s, ok := tag.Lookup(name); ok {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	}
	return otherwise
}

func relativeTo(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
