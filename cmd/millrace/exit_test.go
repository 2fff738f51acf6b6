package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestACommandThatWasStoppedIsNotTakenForDone(t *testing.T) {
	t.Parallel()
	canceled := fmt.Errorf("reading events.v1: %w", context.Canceled)
	const stopped = "millrace: interrupted: reading events.v1: context canceled"
	for name, tc := range map[string]struct {
		err     error
		stopped bool
		code    int
		says    string // in a line of its own
	}{
		"done":                       {nil, false, 0, ""},
		"stopped, as it was meant":   {nil, true, 0, ""},
		"failed":                     {errors.New("no\nyes"), false, 1, "millrace: yes"},
		"failed, and stopped":        {errors.New("no"), true, 1, "millrace: no"},
		"stopped in the middle":      {canceled, true, 130, stopped},
		"a code of its own":          {failedError{errors.New("no")}, false, 2, "millrace: no"},
		"stopped, a code of its own": {failedError{canceled}, true, 2, stopped},
		"canceled by something else": {canceled, false, 1, "millrace: reading events.v1: context canceled"},
	} {
		var out strings.Builder
		if code := ended(tc.err, tc.stopped, &out); code != tc.code ||
			!strings.HasSuffix(strings.TrimSuffix(out.String(), "\n"), tc.says) || tc.says == "" && out.Len() > 0 {
			t.Errorf("%s: %d, %q; want %d, %q", name, code, out.String(), tc.code, tc.says)
		}
	}
}

func TestTapIsDoneWhenItIsStoppedUnlessItHasAnEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for more, done := range map[string]bool{"": true, "--exit": false} {
		root := newRoot()
		root.SetArgs(append([]string{"tap", "--kafka.brokers", "127.0.0.1:1"}, strings.Fields(more)...))
		if err := root.ExecuteContext(ctx); (err == nil) != done || !done && !errors.Is(err, context.Canceled) {
			t.Errorf("tap %s: %v", more, err)
		}
	}
}
