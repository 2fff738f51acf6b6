package certs

import "testing"

// Temp returns an authority whose files end with the test.
func Temp(tb testing.TB) *Authority {
	tb.Helper()
	a, err := New(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return a
}
