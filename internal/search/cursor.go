package search

import (
	"cmp"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

// Cursor is a place in a scan. It stays good while jobs come and go.
type Cursor struct {
	// Queue is the qualified name.
	Queue string
	State keys.State
	// At is when the last job seen ended, in milliseconds, in lists of ended jobs, and the position to go on at in others.
	At int64
	// ID is the last job seen in a list of ended jobs.
	ID string
}

// maxCursor bounds the text of a cursor, in bytes.
const maxCursor = 4096

var errCursor = errors.New("this place to go on from is not one that Bullpen gave")

// String is the cursor for an address.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join([]string{
		string(c.State), strconv.FormatInt(c.At, 10), c.Queue, c.ID,
	}, "\x00")))
}

// ParseCursor reads what String wrote; the empty text is no cursor.
func ParseCursor(text string) (*Cursor, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.SplitN(string(raw), "\x00", 4)
	if err != nil || len(text) > maxCursor || len(parts) != 4 || !slices.Contains(keys.States, keys.State(parts[0])) {
		return nil, errCursor
	}
	at, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || at < 0 || at > time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
		return nil, errCursor
	}
	return &Cursor{State: keys.State(parts[0]), At: at, Queue: parts[2], ID: parts[3]}, nil
}

// against is 0 when the cursor stands in the list, 1 when it stands behind it, -1 when it stands before it or is nil.
func (c *Cursor) against(l List) int {
	if c == nil {
		return -1
	}
	return cmp.Or(cmp.Compare(rank(c.State), rank(l.State)), cmp.Compare(c.Queue, l.name()))
}

// passed says that an ended job comes before or at the cursor's place.
func (c *Cursor) passed(e engine.Ended, oldest bool) bool {
	if c.At == 0 || e.At != c.At {
		return false
	}
	if oldest {
		return e.ID <= c.ID
	}
	return e.ID >= c.ID
}
