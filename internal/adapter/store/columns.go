package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// instant is a time as the columns hold it: Unix milliseconds, NULL for the zero
// time. It is the same number in both databases, and carries no zone to get
// wrong.
type instant struct{ time.Time } //nolint:recvcheck // a Valuer works by value, a Scanner by pointer

// at returns t as it will be read back: UTC, cut to the millisecond.
func at(t time.Time) instant {
	if t.IsZero() {
		return instant{}
	}
	return instant{time.UnixMilli(t.UnixMilli()).UTC()}
}

// Value implements driver.Valuer.
func (i instant) Value() (driver.Value, error) {
	if i.IsZero() {
		return nil, nil
	}
	return i.UnixMilli(), nil
}

// Scan implements sql.Scanner.
func (i *instant) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*i = instant{}
	case int64:
		*i = instant{time.UnixMilli(v).UTC()}
	default:
		return fmt.Errorf("reading an instant from a %T", src)
	}
	return nil
}

// list is a column of strings as a JSON array; nil is the empty array.
type list []string //nolint:recvcheck // a Valuer works by value, a Scanner by pointer

// Value implements driver.Valuer.
func (l list) Value() (driver.Value, error) {
	if l == nil {
		return "[]", nil
	}
	b, err := json.Marshal([]string(l))
	return string(b), err
}

// Scan implements sql.Scanner. The empty array is read as nil.
func (l *list) Scan(src any) error {
	var b []byte
	switch v := src.(type) {
	case string:
		b = []byte(v)
	case []byte:
		b = v
	default:
		return fmt.Errorf("reading a list from a %T", src)
	}
	var got []string
	if err := json.Unmarshal(b, &got); err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	*l = nil
	if len(got) > 0 {
		*l = got
	}
	return nil
}
