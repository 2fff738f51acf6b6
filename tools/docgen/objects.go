package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/api/rpc"
)

// objects are the named objects of a page. An object that is used in several places has a section
// of its own. The fields of all others stand where they are used.
type objects struct {
	fields map[string][]rpc.Line      // by the object's name
	users  map[string]map[string]bool // the requests, responses and objects that an object is a field of
}

func collect(s *rpc.Section) *objects {
	o := &objects{fields: map[string][]rpc.Line{}, users: map[string]map[string]bool{}}
	for i := range s.Entries {
		e := &s.Entries[i]
		o.add(e.Path+" request", e.Input)
		if response := relative(e.Output, dataOf(e)); e.Returns != "" {
			o.use(e.Path+" response", e.Returns, response)
		} else {
			o.add(e.Path+" response", response)
		}
	}
	return o
}

// add records the objects among the fields of a request, a response or an object.
func (o *objects) add(user string, lines []rpc.Line) {
	for i := 0; i < len(lines); i++ {
		if name := lines[i].Object; name != "" {
			below := nested(lines[i:])
			o.use(user, name, relative(below, parent(below, lines[i].Name)))
			i += len(below)
		}
	}
}

func (o *objects) use(user, name string, lines []rpc.Line) {
	if o.users[name] == nil {
		o.users[name] = map[string]bool{}
	}
	o.users[name][user] = true
	if len(lines) > len(o.fields[name]) { // an object that contains itself ends at some depth
		o.fields[name] = lines
		o.add(name, lines)
	}
}

// section reports whether an object has a section of its own.
func (o *objects) section(name string) bool { return o != nil && len(o.users[name]) > 1 }

// sections returns the names of the objects with a section of their own, sorted.
func (o *objects) sections() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.users)), func(name string) bool { return !o.section(name) })
}

// nested returns the fields of the object that is the first line.
func nested(lines []rpc.Line) []rpc.Line {
	rest := lines[1:]
	for i, l := range rest {
		after, ok := strings.CutPrefix(l.Name, lines[0].Name)
		if !ok || !strings.HasPrefix(after, ".") && !strings.HasPrefix(after, "[") {
			return rest[:i]
		}
	}
	return rest
}

// parent returns the path of which the lines are fields: that of an object or of a list's elements.
func parent(lines []rpc.Line, name string) string {
	for len(lines) > 0 && strings.HasPrefix(lines[0].Name, name+"[]") {
		name += "[]"
	}
	return name
}

// dataOf returns the path of what an operation returns.
func dataOf(e *rpc.Entry) string { return parent(e.Output, "data") }

// relative returns lines with their paths below a parent.
func relative(lines []rpc.Line, parent string) []rpc.Line {
	all := slices.Clone(lines)
	for i := range all {
		all[i].Name = strings.TrimPrefix(all[i].Name, parent+".")
	}
	return all
}
