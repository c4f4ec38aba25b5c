package alerts

import (
	"encoding/json"
	"fmt"
	"io"
)

// row is a row of the Grafana dashboard.
type row struct {
	title  string
	panels []panel
}

// panel is one panel. kind is Grafana's name of its type; width is in 24ths of the page.
type panel struct {
	kind, title, text string
	unit              string
	width             int
	queries           []query
	columns           map[string]string // tables: heading of each query's column
	links             bool              // tables: a row leads to its queue
	stack             bool
}

// query is one expression and the name of its series.
type query struct {
	expr, legend string
	dashed       bool // a limit or a target
}

const datasource = "$datasource"

// WriteDashboard writes the Grafana dashboard.
func WriteDashboard(w io.Writer) error {
	b, err := json.MarshalIndent(dashboard(), "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the dashboard: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing the dashboard: %w", err)
	}
	return nil
}

// object is a JSON object.
type object = map[string]any

func dashboard() object {
	return object{
		"id": nil, "uid": "bullpen-queues", "title": "Bullpen: queues", "tags": []string{"bullpen", "bullmq"},
		"schemaVersion": 39, "version": 1, "editable": false, "graphTooltip": 1, "refresh": "30s",
		"time":     object{"from": "now-6h", "to": "now"},
		"timezone": "browser",
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source", "current": object{}},
			variable("job", `label_values(bullpen_queues, job)`, false),
			variable("redis", `label_values(bullmq_redis_up{job=~"$job"}, redis)`, true),
			variable("prefix", `label_values(bullmq_queue_jobs{job=~"$job", redis=~"$redis"}, prefix)`, true),
			variable("queue", `label_values(bullmq_queue_jobs{job=~"$job", redis=~"$redis", prefix=~"$prefix"}, queue)`, true),
			{
				"name": "histogram", "type": "custom", "label": "Histograms", "query": "classic : (_bucket), native : ()",
				"current": object{"text": "classic", "value": "(_bucket)"},
				"options": []object{
					{"text": "classic", "value": "(_bucket)", "selected": true},
					{"text": "native", "value": "()", "selected": false},
				},
			},
		}},
		"annotations": object{"list": []object{
			annotation("Firing alerts", "red", `ALERTS{alertstate="firing", job=~"$job", severity=~"warning|critical"}`, "{{alertname}} {{queue}}"),
			annotation("Restarts of Bullpen", "blue", `changes(process_start_time_seconds{job=~"$job"}[1m]) > 0`, "restart of {{instance}}"),
		}},
		"links": []object{{
			"title": "Runbooks", "type": "link", "url": RunbookURL(Options{}.withDefaults().URL, "watchdog"), "icon": "doc", "targetBlank": true,
		}},
		"panels": layout(rows()),
	}
}

func variable(name, q string, all bool) object {
	return object{
		"name": name, "type": "query", "label": name, "datasource": object{"type": "prometheus", "uid": datasource},
		"query": object{"query": q, "refId": name}, "definition": q,
		"refresh": 2, "sort": 1, "multi": all, "includeAll": all,
		"current": object{},
	}
}

func annotation(name, color, expr, text string) object {
	return object{
		"name": name, "enable": true, "iconColor": color, "expr": expr, "titleFormat": text,
		"datasource": object{"type": "prometheus", "uid": datasource},
	}
}

// layout places panels from left to right, each row under a heading.
func layout(rows []row) []object {
	const height, page = 8, 24
	var out []object
	id, y := 1, 0
	for _, r := range rows {
		out = append(out, object{
			"id": id, "type": "row", "title": r.title, "collapsed": false, "panels": []object{},
			"gridPos": object{"x": 0, "y": y, "w": page, "h": 1},
		})
		id++
		y++
		x := 0
		for _, p := range r.panels {
			h := height
			if p.kind == "stat" {
				h = 4
			}
			if x+p.width > page {
				x, y = 0, y+h
			}
			o := p.object()
			o["id"], o["gridPos"] = id, object{"x": x, "y": y, "w": p.width, "h": h}
			out = append(out, o)
			id++
			x += p.width
		}
		y += height
	}
	return out
}

func (p panel) object() object {
	targets := make([]object, len(p.queries))
	overrides := []object{}
	for i, q := range p.queries {
		ref := string(rune('A' + i))
		targets[i] = object{
			"refId": ref, "expr": q.expr, "legendFormat": q.legend,
			"datasource": object{"type": "prometheus", "uid": datasource},
			"instant":    p.kind == "table" || p.kind == "stat", "range": p.kind != "table" && p.kind != "stat",
		}
		if p.kind == "table" || p.kind == "heatmap" {
			targets[i]["format"] = p.kind
		}
		if q.dashed {
			overrides = append(overrides, object{
				"matcher":    object{"id": "byFrameRefID", "options": ref},
				"properties": []object{{"id": "custom.lineStyle", "value": object{"fill": "dash", "dash": []int{6, 6}}}},
			})
		}
	}
	defaults := object{"unit": p.unit, "min": 0, "custom": object{}}
	if p.stack {
		defaults["custom"] = object{"stacking": object{"mode": "normal"}, "fillOpacity": 30}
	}
	o := object{
		"type": p.kind, "title": p.title, "description": p.text,
		"datasource":  object{"type": "prometheus", "uid": datasource},
		"targets":     targets,
		"fieldConfig": object{"defaults": defaults, "overrides": overrides},
		"options":     object{},
	}
	if p.kind == "table" {
		p.asTable(o)
	}
	return o
}

// asTable joins the queries to one line a queue.
func (p panel) asTable(o object) {
	rename, hide := object{}, object{"Time": true, "job": true}
	for ref, heading := range p.columns {
		rename["Value #"+ref] = heading
	}
	o["transformations"] = []object{
		{"id": "merge", "options": object{}},
		{"id": "organize", "options": object{"renameByName": rename, "excludeByName": hide}},
		{"id": "sortBy", "options": object{"sort": []object{{"field": p.columns["I"], "desc": true}}}},
	}
	if p.links {
		o["fieldConfig"].(object)["overrides"] = []object{{
			"matcher": object{"id": "byName", "options": "queue"},
			"properties": []object{{"id": "links", "value": []object{{
				"title": "This queue alone",
				"url":   "/d/bullpen-queues?${job:queryparam}&${datasource:queryparam}&var-queue=${__value.raw}",
			}}}},
		}}
	}
}
