package apierr

import (
	"errors"
	"fmt"
	"testing"
)

func TestRejectionIsAnErrorOnlyWithAProblem(t *testing.T) {
	t.Parallel()
	var r Rejection
	if err := r.Err(); err != nil {
		t.Errorf("Err() of nothing = %v", err)
	}
	r.Add("name", "required", "name must have 1 to %d characters", 100)
	r.Append(
		Detail{
			Index: NoIndex, Field: "scopes[0]", Rule: "unknown", Message: "unknown scope",
			Suggestion: "Did you mean 'read:data'?",
		})
	r.Merge(nil)
	r.Merge(fmt.Errorf("tag: %w", Invalid("tags[1]", "too_long", "tags[1] is too long")))
	got, ok := errors.AsType[*Error](r.Err())
	if !ok || got.Code != Validation || len(got.Details) != 3 || got.Message != "name must have 1 to 100 characters" ||
		got.Details[0].Index != NoIndex {
		t.Errorf("Err() = %+v", got)
	}
	var suggesting Rejection
	suggesting.Append(got.Details[1])
	if got := Of(suggesting.Err()).Message; got != "unknown scope. Did you mean 'read:data'?" {
		t.Errorf("message %q", got)
	}
}

func TestRejectionListsNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	var r Rejection
	for range MaxDetails + 1 {
		r.Add("tags", "too_many", "too many")
	}
	r.Append(make([]Detail, 3)...)
	if n := len(Of(r.Err()).Details); n != MaxDetails {
		t.Errorf("%d details, want %d", n, MaxDetails)
	}
}
