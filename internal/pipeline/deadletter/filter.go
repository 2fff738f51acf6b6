package deadletter

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// Filter selects letters; its zero value selects none, for it names no topic.
type Filter struct {
	// Topics are those of the records, not of their letters, without prefix.
	Topics       []string
	Reason       Reason
	Class        Class
	Website      string
	Organization string
	// Since and Until bound when the letter was written: [Since, Until).
	Since, Until time.Time
	// Position selects one letter by its own place; nil for any.
	Position *record.Position
}

// Check reports a reason or class that does not exist.
func (f *Filter) Check() error {
	if f.Reason != "" {
		if _, err := KindOf(f.Reason); err != nil {
			return err
		}
	}
	for _, k := range Reasons {
		if f.Class == "" || f.Class == k.Class {
			return nil
		}
	}
	return fmt.Errorf("unknown class %q; the classes are %s, %s, %s",
		f.Class, ClassUndecodable, ClassInvariant, ClassRejected)
}

// wants reports whether the letter is selected.
func (f *Filter) wants(l *Letter) bool {
	return (f.Reason == "" || f.Reason == l.Reason) &&
		(f.Class == "" || f.Class == l.Class) &&
		(f.Website == "" || f.Website == l.Website()) &&
		(f.Organization == "" || f.Organization == l.Organization()) &&
		!l.At.Before(f.Since) && (f.Until.IsZero() || l.At.Before(f.Until)) &&
		(f.Position == nil || *f.Position == l.Position)
}
