// Package timezone knows the time zones that IANA lists, on every machine the same ones.
package timezone

import (
	_ "embed"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the same zones on every machine, with or without its own files
)

// list has the names of the time zones that Go's lib/time/zoneinfo.zip has, but for
// Factory, which is the zone of none: one a line and in order. Other files of the machine
// have no name here, such as its own zone and those with leap seconds.
//
//go:embed zones.txt
var list string

// known has those names.
var known = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for name := range Names() {
		all[name] = true
	}
	return all
})

// loaded remembers the locations that were asked for.
var loaded sync.Map // string → *time.Location

// Names returns the names of all zones, in order.
func Names() iter.Seq[string] { return strings.FieldsSeq(list) }

// Load returns the time zone of that name, such as Europe/Berlin; UTC when it is empty.
// A name has one spelling: another case is an error. It is safe for concurrent use.
func Load(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if z, ok := loaded.Load(name); ok {
		return z.(*time.Location), nil
	}
	if !known()[name] {
		return nil, fmt.Errorf("unknown time zone %.64q", name)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: %w", name, err)
	}
	loaded.Store(name, z)
	return z, nil
}
