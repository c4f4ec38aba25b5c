package scripts

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
)

//go:embed *.lua includes/*.lua
var files embed.FS

// script is the text of one transition as it is sent, and the hash Redis knows it by.
type script struct {
	name, text, sha string
}

// library returns all scripts by name, built once from the embedded files, which are part of the binary: a fault in
// them cannot be anything but a fault of the build, which the package's tests would show.
var library = sync.OnceValue(func() map[string]*script {
	names, err := fs.Glob(files, "*.lua")
	if err != nil {
		panic(err)
	}
	all := make(map[string]*script, len(names))
	for _, file := range names {
		text, err := expand(files, file)
		if err != nil {
			panic(err)
		}
		sum := sha1.Sum([]byte(text))
		name := strings.TrimSuffix(file, ".lua")
		all[name] = &script{name: name, text: text, sha: hex.EncodeToString(sum[:])}
	}
	return all
})

// includeLine is the directive that pulls in includes/NAME.lua, each file once, before the text that needs it.
var includeLine = regexp.MustCompile(`(?m)^-- include: (\w+)\n`)

// expand reads a script and replaces each directive with the file it names.
func expand(from fs.FS, file string) (string, error) {
	done := map[string]bool{}
	var read func(file string) (string, error)
	read = func(file string) (string, error) {
		if done[file] {
			return "", nil
		}
		done[file] = true
		raw, err := fs.ReadFile(from, file)
		if err != nil {
			return "", fmt.Errorf("read script: %w", err)
		}
		var failed error
		text := includeLine.ReplaceAllStringFunc(string(raw), func(line string) string {
			name := includeLine.FindStringSubmatch(line)[1]
			part, err := read("includes/" + name + ".lua")
			if err != nil && failed == nil {
				failed = fmt.Errorf("%s: %w", file, err)
			}
			return part
		})
		return text, failed
	}
	return read(file)
}
