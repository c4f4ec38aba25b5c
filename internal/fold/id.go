package fold

import (
	"crypto/sha256"
	"encoding/hex"
)

// ID names the pair of a job's name and a folded error, shortly and the same in every process.
func ID(name, folded string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + folded))
	return hex.EncodeToString(sum[:6])
}
