package flagapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// state is what somebody has seen of a website's flags.
type state struct {
	mark  flagset.Mark // of the set
	print uint64       // of what the website sees of it
	at    time.Time    // when, in milliseconds
}

// stateOf is what a caller sees of a set at a time.
func stateOf(set *flagset.Set, v *flagset.View, now time.Time) state {
	return state{set.Mark, v.Print, time.UnixMilli(now.UnixMilli())}
}

// maxStateLen is longer than any state in bytes.
const maxStateLen = 96

// String is the state as it is told to callers, to whom it means nothing. Every process
// understands those of the others.
func (s state) String() string {
	return fmt.Sprintf("%d.%d.%016x.%d", s.mark.Epoch, s.mark.Version, s.print, s.at.UnixMilli())
}

// parseState reads what String wrote; ok is false for everything else.
func parseState(text string) (s state, ok bool) {
	parts := strings.Split(text, ".")
	if len(text) > maxStateLen || len(parts) != 4 {
		return state{}, false
	}
	var millis int64
	for i, to := range []*int64{0: &s.mark.Epoch, 1: &s.mark.Version, 3: &millis} {
		if to != nil {
			*to, _ = strconv.ParseInt(parts[i], 10, 64) // what is none is not written so
		}
	}
	s.print, _ = strconv.ParseUint(parts[2], 16, 64)
	s.at = time.UnixMilli(millis)
	return s, s.String() == text
}

// current reports whether what was seen is what a view shows at a time.
func (s state) current(v *flagset.View, now time.Time) bool {
	next := v.Next(s.at)
	return s.print == v.Print && (next.IsZero() || next.After(now))
}
