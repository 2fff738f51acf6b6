package managed

import "time"

// Next returns a copy of a record, one version later. What it points to is the same.
func Next[T any, R interface {
	*T
	Kept
}](was R, now time.Time) R {
	is := *was
	R(&is).Common().Step(now)
	return &is
}

// Apply gives a field of a patch to set, unless it is nil, which leaves what there is.
func Apply[T any](field *T, set func(T)) {
	if field != nil {
		set(*field)
	}
}
