package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a setting that never prints: formatting, logging and marshalling
// show a fixed text. An empty Secret shows as empty, so that one can see that
// it is not set. A struct that holds one must export the field: fmt cannot see
// the methods of a value behind an unexported one.
type Secret string

// Reveal returns the value, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String returns a fixed text, or nothing when the secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format keeps the value out of every verb of package fmt, also out of those
// that do not suit a text and would make fmt show the bare value.
func (s Secret) Format(f fmt.State, verb rune) {
	out := s.String()
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		out = `"` + out + `"`
	}
	_, _ = io.WriteString(f, out) // fmt has no use for the error
}

// LogValue keeps the value out of logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps the value out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
