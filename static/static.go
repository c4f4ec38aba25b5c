// Package static holds the style sheet, the script and the icons of the dashboard, embedded, under names that carry a
// hash of their content, so that a browser may keep them for ever.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed bullpen.css app.js icon.svg
var files embed.FS

// The files by the name they have in this directory.
const (
	Style  = "bullpen.css"
	Script = "app.js"
	Icon   = "icon.svg"
)

// Files are the embedded files, ready to be served.
type Files struct {
	hashed map[string]string // name → hashed name
	byName map[string]asset  // hashed name → content
}

type asset struct {
	contentType string
	plain, gz   []byte
}

// Load reads and compresses the embedded files once.
func Load() (*Files, error) {
	f := &Files{hashed: map[string]string{}, byName: map[string]asset{}}
	for _, name := range []string{Style, Script, Icon} {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:5]) + ext
		f.hashed[name] = hashed
		f.byName[hashed] = asset{contentType: contentType(ext), plain: content, gz: compress(content)}
	}
	return f, nil
}

// Name returns the hashed name of a file: "bullpen.css" is "bullpen.1f0c44d2a9.css".
func (f *Files) Name(name string) string { return f.hashed[name] }

// Serve writes the file with the given hashed name; an unhashed one, which old bookmarks of icons may hold, is sent
// without leave to keep it. It reports false when there is no such file.
func (f *Files) Serve(w http.ResponseWriter, r *http.Request, name string) bool {
	a, ok := f.byName[name]
	cache := "public, max-age=31536000, immutable"
	if !ok {
		if a, ok = f.byName[f.hashed[name]]; !ok {
			return false
		}
		cache = "no-cache"
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", cache)
	h.Set("Vary", "Accept-Encoding")
	body := a.plain
	if a.gz != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.gz
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
	return true
}

func contentType(ext string) string {
	if ext == ".js" {
		return "text/javascript; charset=utf-8" // some systems' tables say application/javascript
	}
	return mime.TypeByExtension(ext)
}

// compress returns nil when compression does not pay.
func compress(b []byte) []byte {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := w.Write(b); err != nil || w.Close() != nil || buf.Len() >= len(b) {
		return nil
	}
	return buf.Bytes()
}
