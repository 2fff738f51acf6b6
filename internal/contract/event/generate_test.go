package event

import (
	"math/rand/v2"
	"strings"
)

// generator writes bodies that are mostly valid.
type generator struct{ *rand.Rand }

func (g generator) one(in int) bool { return g.IntN(in) == 0 }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) space() string {
	if g.one(8) {
		return g.pick(" ", "\n", "\t", "\r\n", "    ")
	}
	return ""
}

func (g generator) body() []byte {
	if g.one(2) {
		return []byte(g.space() + g.event() + g.space())
	}
	events := make([]string, g.IntN(4))
	for i := range events {
		events[i] = g.event()
	}
	return []byte("[" + g.space() + strings.Join(events, g.space()+","+g.space()) + "]" + g.space())
}

func (g generator) event() string {
	members := []string{`"name":` + g.pick(`"a"`, `"signup"`, g.text(256))}
	for range g.IntN(6) {
		f := Track.Fields[g.IntN(len(Track.Fields))]
		key := f.Name
		if g.one(20) {
			key = g.pick(`n\u0061me`, "unknown", "Name", "", "websiteid")
		}
		members = append(members, g.space()+`"`+key+`"`+g.space()+":"+g.space()+g.value(f.Name, int(f.Max)))
	}
	return "{" + strings.Join(members, g.space()+",") + g.space() + "}"
}

func (g generator) value(name string, limit int) string {
	if g.one(10) {
		return g.any(3)
	}
	switch name {
	case "timestamp":
		return g.pick(`1795000000000`, `1795000000000.5`, `1.795e12`, `946684800000`, `946684799999`, `"2026-05-01"`,
			`"2026-02-2`+g.pick("8", "9")+`T`+g.pick("00", "23", "24")+`:59:`+g.pick("00", "59", "60")+
				g.pick("", ".1", ".1234", ",5", ".")+
				g.pick("", "Z", "z", " UTC", "+02:00", "-0330", " +01", "+24:00", " ")+`"`,
			`"1795000000000"`, `"1795000000000.25"`, `8640000000000000`, `8640000000000001`,
			`"Fri, 01 May 2026 12:34:56 GMT"`, `"Fri May 01 2026 12:34:56 GMT-0700 (x)"`)
	case "anonymizeVisitorIds":
		return g.pick("true", "false", `"auto"`, `"\u0061uto"`, `"yes"`)
	case "properties":
		return g.object(1+g.IntN(3), g.pick("0", "3", "16", "17", "49", "50", "51"))
	}
	return g.text(limit)
}

// text is a string of no, few, limit or one more than limit code points.
func (g generator) text(limit int) string {
	n := []int{0, 1, 7, 8, 9, g.IntN(40), limit, limit + 1}[g.IntN(8)]
	if limit > 300 && n > 300 && !g.one(10) {
		n = 20
	}
	var b strings.Builder
	unit := g.pick("x", "x", "é", "😀", `\u00e9`, `\ud83d\ude00`, `\ud800`, `\udc00`, `\n`, `\/`)
	for range n {
		if g.one(10) {
			b.WriteString(g.pick("x", " ", "é", `\"`, `\\`, `\u0000`))
		} else {
			b.WriteString(unit)
		}
	}
	return `"` + b.String() + `"`
}

func (g generator) any(depth int) string {
	if depth == 0 || g.one(2) {
		return g.pick("null", "true", "false", "0", "-0", "-1.5e-3", "1e308", "1e309", "12345678901234567890", "01", "1.",
			`""`, g.text(20), strings.Repeat("9", 305+g.IntN(8)))
	}
	if g.one(3) {
		levels := 1 + g.IntN(MaxDepth+1)
		return strings.Repeat("[", levels) + strings.Repeat("]", levels)
	}
	return g.object(depth, g.pick("0", "1", "2", "20"))
}

func (g generator) object(depth int, members string) string {
	count := map[string]int{
		"0": 0, "1": 1, "2": 2, "3": 3, "16": 16, "17": 17, "20": 20, "49": 49, "50": 50, "51": 51,
	}[members]
	list := make([]string, count)
	for i := range list {
		key := "key" + string(rune('A'+i)) + g.pick("", "", "", "long enough", `\u0061`)
		if g.one(40 * (count + 1)) {
			key = "keyA"
		}
		value := "1"
		if g.one(4 + count) {
			value = g.any(depth - 1)
		}
		list[i] = g.space() + `"` + key + `"` + g.space() + ":" + g.space() + value
	}
	return "{" + strings.Join(list, g.space()+",") + g.space() + "}"
}
