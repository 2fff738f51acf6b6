package config

import "log/slog"

const redacted = "[redacted]"

// Secret is a setting that never prints: formatting, logging and marshalling
// show a fixed text. An empty Secret shows as empty, so that one can see that
// it is not set.
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

// GoString keeps the value out of %#v.
func (s Secret) GoString() string { return `config.Secret("` + s.String() + `")` }

// LogValue keeps the value out of logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps the value out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
