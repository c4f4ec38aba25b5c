package web

import (
	"bytes"
	"encoding/json"

	"bullpen/internal/engine/keys"
)

// elsewhere stands for what names a queue that is hidden.
const elsewhere = "names a queue that you may not see"

// visibleKey is the key of another job, "" when its queue is hidden.
func visibleKey(who Identity, key string) string {
	if q, _, ok := keys.SplitJobKey(key); ok && !who.May(Viewer, q) {
		return ""
	}
	return key
}

// visibleOptions leaves out of a job's options what names a parent, or the original of a dead letter, in a hidden queue.
func visibleOptions(who Identity, prefix string, raw json.RawMessage) json.RawMessage {
	var named struct {
		Parent     struct{ Queue string }
		DeadLetter struct {
			Queue string
			Opts  json.RawMessage
		}
	}
	var members map[string]json.RawMessage
	if !who.bounded() || json.Unmarshal(raw, &members) != nil {
		return raw
	}
	_ = json.Unmarshal(raw, &named) // a member of another type names nothing
	parent := named.Parent.Queue + ":"
	hideParent := visibleKey(who, parent) != parent
	letter := named.DeadLetter
	hideLetter := !who.May(Viewer, keys.Queue{Prefix: prefix, Name: letter.Queue})
	inner := visibleOptions(who, prefix, letter.Opts)
	if !hideParent && !hideLetter && bytes.Equal(inner, letter.Opts) {
		return raw
	}
	if hideParent {
		delete(members, "parent")
	}
	if hideLetter {
		delete(members, "deadLetter")
	} else if len(letter.Opts) > 0 {
		members["deadLetter"] = withMember(members["deadLetter"], "opts", inner)
	}
	return asObject(members, raw)
}

// withMember is an object with one member changed.
func withMember(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return object
	}
	members[name] = value
	return asObject(members, object)
}

func asObject(members map[string]json.RawMessage, otherwise json.RawMessage) json.RawMessage {
	out, err := json.Marshal(members)
	if err != nil {
		return otherwise // they were read from JSON
	}
	return out
}
