package config

import (
	"reflect"

	"go.yaml.in/yaml/v4"
)

// decode accepts true, false, or a mapping, which implies true.
func (t *TLS) decode(d *decoder, n *yaml.Node, path string, tag reflect.StructTag) {
	if n.Kind == yaml.MappingNode {
		t.Enabled = true
		d.mapping(n, path, reflect.ValueOf(t).Elem())
		return
	}
	d.value(n, path, reflect.ValueOf(&t.Enabled).Elem(), tag)
}
