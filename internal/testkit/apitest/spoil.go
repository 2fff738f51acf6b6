package apitest

import (
	"maps"
	"slices"
	"strings"
)

// odd are values that few members take.
var odd = []any{
	nil, true, 0.0, -1.0, 1.5, 1e300, -1e300, 9223372036854775807.0, 9007199254740993.0,
	"", " ", "\x00", "\u2028", "null", "../../etc/passwd", "'; DROP TABLE events; --", strings.Repeat("x", 5000),
	"2026-02-30", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
	[]any{},
	[]any{nil},
	[]any{[]any{[]any{}}},
	map[string]any{},
	map[string]any{"": nil},
	map[string]any{"and": []any{map[string]any{"not": nil}}},
}

// spoil returns a value with one thing in it changed, so that it may not fit its schema.
func (g *Generator) spoil(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return g.spoilObject(v)
	case []any:
		return g.spoilList(v)
	case string:
		switch g.Rand.IntN(4) {
		case 0:
			return v + g.text(1, 3)
		case 1:
			return strings.Repeat(v+"x", 2000)
		case 2:
			return v + "\x00"
		}
	case float64:
		switch g.Rand.IntN(4) {
		case 0:
			return v - 1
		case 1:
			return v + 1
		case 2:
			return v + 0.5
		}
	}
	return pick(g, odd)
}

func (g *Generator) spoilObject(v map[string]any) any {
	changed, names := maps.Clone(v), slices.Sorted(maps.Keys(v))
	how := g.Rand.IntN(12)
	switch {
	case how == 0:
		return pick(g, odd)
	case how < 3 || len(names) == 0:
		changed[g.text(0, 10)] = pick(g, odd)
	case how < 5:
		delete(changed, pick(g, names))
	case how < 7:
		changed[pick(g, names)] = pick(g, odd)
	default:
		name := pick(g, names)
		changed[name] = g.spoil(changed[name])
	}
	return changed
}

func (g *Generator) spoilList(v []any) any {
	changed := slices.Clone(v)
	how := g.Rand.IntN(12)
	switch {
	case how == 0:
		return pick(g, odd)
	case how < 4 || len(v) == 0:
		return append(changed, pick(g, odd))
	case how < 6:
		for len(changed) < 200 {
			changed = append(changed, changed[g.Rand.IntN(len(changed))])
		}
	default:
		i := g.Rand.IntN(len(changed))
		changed[i] = g.spoil(changed[i])
	}
	return changed
}

// mangle makes what is no JSON, or an odd one, of a JSON text.
func (g *Generator) mangle(text []byte) []byte {
	at := g.Rand.IntN(len(text) + 1)
	switch g.Rand.IntN(7) {
	case 0:
		return text[:at]
	case 1:
		return slices.Insert(text, at, 0xff)
	case 2:
		return slices.Insert(text, at, 0)
	case 3:
		return slices.Concat(text, text)
	case 4:
		return []byte(strings.Repeat("[", 100_000))
	case 5: // each member twice
		if members, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "}"), "{"); ok && members != "" {
			return []byte("{" + members + "," + members + "}")
		}
	case 6:
		return []byte(" \n\t" + string(text) + "\r\n ")
	}
	return []byte("{}")
}
