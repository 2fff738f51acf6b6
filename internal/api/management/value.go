package management

import "github.com/millrace/millrace/internal/api/rpc"

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

// orNull makes a zero value null.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
