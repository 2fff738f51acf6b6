// Package wire says how values look that leave the service in more than one way: in
// responses, in exports and in the audit.
package wire

import "time"

// TimeLayout is RFC 3339 in UTC with milliseconds; a time is brought to UTC before.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// AppendMillis appends the time that Unix milliseconds stand for.
func AppendMillis(dst []byte, millis int64) []byte {
	return time.UnixMilli(millis).UTC().AppendFormat(dst, TimeLayout)
}

// Time returns a time as it is written; nil for the zero time, which is none.
func Time(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(TimeLayout)
	return &text
}

// OrNull returns what v is written as; nil, which is null, for its zero value.
func OrNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
