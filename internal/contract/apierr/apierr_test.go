package apierr

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

var errDown = errors.New("connection refused")

func TestErrorIsForTheLog(t *testing.T) {
	t.Parallel()
	detail := Detail{Index: 2, Field: "name", Rule: "too_long", Message: "at most 256 code points"}
	for name, tc := range map[string]struct {
		err  *Error
		want string
	}{
		"a code":       {New(Forbidden), "FORBIDDEN"},
		"with a cause": {Wrap(ServiceUnavailable, errDown), "SERVICE_UNAVAILABLE: connection refused"},
		"with a message": {
			&Error{Code: NotFound, Message: "Link not found", Err: errDown}, "NOT_FOUND: Link not found: connection refused",
		},
		"with a detail": {
			&Error{Code: Validation, Details: []Detail{detail}}, "VALIDATION_ERROR; name: at most 256 code points",
		},
		"with three details": {
			&Error{Code: Validation, Details: []Detail{detail, detail, detail}},
			"VALIDATION_ERROR; name: at most 256 code points; name: at most 256 code points; name: at most 256 code points",
		},
		"with more than three": {
			&Error{Code: Validation, Details: []Detail{detail, detail, detail, detail, detail}},
			"VALIDATION_ERROR; name: at most 256 code points; name: at most 256 code points; name: at most 256 code points; …",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.err.Error(); got != tc.want {
				t.Errorf("Error() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOfFindsTheErrorInsideAnother(t *testing.T) {
	t.Parallel()
	f := New(QuotaExceeded)
	if got := Of(fmt.Errorf("accepting 3 events: %w", f)); got != f {
		t.Errorf("Of(wrapped) = %v, want the same error", got)
	}
	if got := Of(errors.Join(errDown, f)); got != f {
		t.Errorf("Of(joined) = %v, want the same error", got)
	}
}

func TestOfHidesEveryOtherError(t *testing.T) {
	t.Parallel()
	got := Of(errDown)
	if got.Code != Internal || got.Message != "" || got.Details != nil || !errors.Is(got, errDown) {
		t.Errorf("Of(%v) = %+v, want an internal error without a text of its own", errDown, got)
	}
	if got := Of(nil); got != nil {
		t.Errorf("Of(nil) = %v", got)
	}
}

func TestIsComparesTheCode(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("reading a key: %w", Wrap(ServiceUnavailable, context.DeadlineExceeded))
	for _, tc := range []struct {
		err  error
		code Code
		want bool
	}{
		{err, ServiceUnavailable, true},
		{err, Internal, false},
		{errDown, Internal, false},
		{nil, Internal, false},
	} {
		if got := Is(tc.err, tc.code); got != tc.want {
			t.Errorf("Is(%v, %s) = %v", tc.err, tc.code, got)
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error("the cause cannot be found")
	}
}
