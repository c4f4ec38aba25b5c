package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// scenario is a sequence of steps on an empty database, the same for every side.
type scenario struct {
	// Group is the file's name without its ending; Name is unique in the group. Title is the name without the case.
	Group, Name, Title string
	Steps              []step
	// Version5 says why BullMQ 5.81.5 differs from 6.7.0 here; "" means that it does not.
	Version5 string
	// Deviates names the row of docs/deviations.md that makes the engine differ here, in the paths At only.
	Deviates string
	At       []string
}

// step is one call. Besides the driver's steps there are "tick" (ms to advance the clock) and "redis" (a raw command).
type step struct {
	Op   string
	Args json.RawMessage
}

func (s step) String() string { return s.Op + " " + string(s.Args) }

// scenarioFile is how a scenario is written. A text "$x" anywhere in the steps is replaced by the member x of the
// case; a step "$x" by the steps x holds. Each case is a scenario of its own, "name: case". States makes a case of
// each state named, in which "$setup" are the steps of testdata/states.yaml that bring job 1 there.
type scenarioFile struct {
	Name     string               `yaml:"name"`
	Worker   yaml.Node            `yaml:"worker"`   // options of the workers driven by hand
	Defaults yaml.Node            `yaml:"defaults"` // default job options of the queue
	States   []string             `yaml:"states"`
	Version5 string               `yaml:"version5"`
	Deviates string               `yaml:"deviates"`
	At       []string             `yaml:"at"`
	Cases    map[string]yaml.Node `yaml:"cases"`
	Steps    yaml.Node            `yaml:"steps"`
}

// loadScenarios reads every scenario under testdata.
func loadScenarios() ([]scenario, error) {
	text, err := os.ReadFile("testdata/states.yaml")
	if err != nil {
		return nil, err
	}
	var states map[string]yaml.Node
	if err := yaml.Load(text, &states); err != nil {
		return nil, fmt.Errorf("states: %w", err)
	}
	files, err := filepath.Glob("testdata/scenarios/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []scenario
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var doc struct {
			Setups    yaml.Node      `yaml:"setups"` // anchors only
			Scenarios []scenarioFile `yaml:"scenarios"`
		}
		if err := yaml.Load(text, &doc, yaml.WithKnownFields()); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		group := strings.TrimSuffix(filepath.Base(f), ".yaml")
		for _, sf := range doc.Scenarios {
			list, err := sf.expand(group, states)
			if err != nil {
				return nil, fmt.Errorf("%s: scenario %q: %w", f, sf.Name, err)
			}
			all = append(all, list...)
		}
	}
	return all, nil
}

// expand makes one scenario of each case, or the only one.
func (f scenarioFile) expand(group string, states map[string]yaml.Node) ([]scenario, error) {
	base := scenario{Group: group, Name: f.Name, Title: f.Name, Version5: f.Version5, Deviates: f.Deviates, At: f.At}
	if len(f.Cases)+len(f.States) == 0 {
		var err error
		base.Steps, err = f.steps(nil)
		return []scenario{base}, err
	}
	var list []scenario
	add := func(label string, vars map[string]*yaml.Node) error {
		s := base
		s.Name = f.Name + ": " + label
		var err error
		if s.Steps, err = f.steps(vars); err != nil {
			return fmt.Errorf("case %q: %w", label, err)
		}
		if err := s.override(vars); err != nil {
			return fmt.Errorf("case %q: %w", label, err)
		}
		list = append(list, s)
		return nil
	}
	for _, state := range f.States {
		setup, ok := states[state]
		if !ok {
			return nil, fmt.Errorf("no state %q", state)
		}
		vars := members(f.Cases[state])
		vars["setup"], vars["state"] = &setup, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: state}
		if err := add(state, vars); err != nil {
			return nil, err
		}
	}
	for _, label := range slices.Sorted(maps.Keys(f.Cases)) {
		if slices.Contains(f.States, label) {
			continue
		}
		if err := add(label, members(f.Cases[label])); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// override takes what a case says about the scenario as a whole.
func (s *scenario) override(vars map[string]*yaml.Node) error {
	for key, field := range map[string]any{"version5": &s.Version5, "deviates": &s.Deviates, "at": &s.At} {
		if v, ok := vars[key]; ok {
			if err := v.Decode(field); err != nil {
				return err
			}
		}
	}
	return nil
}

// members are the values of a mapping by name.
func members(node yaml.Node) map[string]*yaml.Node {
	vars := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		vars[node.Content[i].Value] = node.Content[i+1]
	}
	return vars
}

func (f scenarioFile) steps(vars map[string]*yaml.Node) ([]step, error) {
	var common []byte
	for name, node := range map[string]*yaml.Node{"worker": &f.Worker, "defaults": &f.Defaults} {
		if node.Kind == 0 {
			continue
		}
		text, err := toJSON(node, vars)
		if err != nil {
			return nil, err
		}
		common = append(common, fmt.Sprintf(",%q:%s", name, text)...)
	}
	nodes := splice(f.Steps.Content, vars)
	steps := make([]step, 0, len(nodes))
	for _, n := range nodes {
		if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
			return nil, fmt.Errorf("line %d: a step is one name with its arguments", n.Line)
		}
		args, err := toJSON(n.Content[1], vars)
		if err != nil {
			return nil, err
		}
		op := n.Content[0].Value
		if op != "tick" && op != "redis" {
			args = withMembers(args, common)
		}
		steps = append(steps, step{Op: op, Args: args})
	}
	if len(steps) == 0 {
		return nil, errors.New("no steps")
	}
	return steps, nil
}

// withMembers puts ",key:value…" before the members of a JSON object; the object's own win, being later.
func withMembers(object, members []byte) []byte {
	if string(object) == "null" {
		object = []byte("{}")
	}
	if len(members) == 0 {
		return object
	}
	rest := bytes.TrimPrefix(object, []byte("{"))
	joined := append([]byte("{"), members[1:]...)
	if string(rest) != "}" {
		joined = append(joined, ',')
	}
	return append(joined, rest...)
}

// splice replaces each text "$x" that stands for a list by the list's elements; a case without x adds no steps.
func splice(nodes []*yaml.Node, vars map[string]*yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for _, n := range nodes {
		n = resolve(n, vars)
		switch {
		case n.Kind == yaml.SequenceNode:
			out = append(out, splice(n.Content, vars)...)
		case n.Kind == yaml.MappingNode:
			out = append(out, n)
		}
	}
	return out
}

// resolve follows aliases and variables.
func resolve(n *yaml.Node, vars map[string]*yaml.Node) *yaml.Node {
	for {
		v, ok := vars[strings.TrimPrefix(n.Value, "$")]
		switch {
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.ScalarNode && strings.HasPrefix(n.Value, "$") && ok:
			n = v
		default:
			return n
		}
	}
}

// merge pairs the names and values of a mapping and puts in the members of what stands under "<<".
func merge(content []*yaml.Node, vars map[string]*yaml.Node) (pairs [][2]*yaml.Node) {
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value == "<<" {
			pairs = append(pairs, merge(resolve(content[i+1], vars).Content, vars)...)
			continue
		}
		pairs = append(pairs, [2]*yaml.Node{content[i], content[i+1]})
	}
	return pairs
}

// toJSON writes a node as JSON with its members in the order written, as a producer would send them.
func toJSON(n *yaml.Node, vars map[string]*yaml.Node) ([]byte, error) {
	n = resolve(n, vars)
	var b bytes.Buffer
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i, m := range merge(n.Content, vars) {
			value, err := toJSON(m[1], vars)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(jsonText(m[0].Value))
			b.WriteByte(':')
			b.Write(value)
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, c := range n.Content {
			value, err := toJSON(c, vars)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(value)
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		if text, ok := v.(string); ok {
			return jsonText(text), nil
		}
		return json.Marshal(v)
	default:
		return nil, fmt.Errorf("line %d: empty", n.Line)
	}
	return b.Bytes(), nil
}

// jsonText encodes a string as JavaScript does: nothing but what JSON demands is escaped.
func jsonText(s string) []byte {
	if before, after, found := strings.Cut(s, "\u2028"); found {
		left, right := jsonText(before), jsonText(after)
		return slices.Concat(left[:len(left)-1], []byte("\u2028"), right[1:])
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return bytes.TrimRight(b.Bytes(), "\n")
}
