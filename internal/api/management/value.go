package management

import (
	"time"

	"github.com/millrace/millrace/internal/api/rpc"
)

// list keeps an empty list from becoming null.
func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// sent returns the value of a field that was sent, zero for null; else nil.
func sent[T any](p rpc.Patch[T]) *T {
	if !p.Set {
		return nil
	}
	var zero T
	v := p.Or(zero)
	return &v
}

// sentTime is sent of an instant.
func sentTime(p rpc.Patch[rpc.Time]) *time.Time {
	if !p.Set {
		return nil
	}
	at := p.Or(rpc.Time{}).UTC()
	return &at
}
