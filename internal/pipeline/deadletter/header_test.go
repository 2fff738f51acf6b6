package deadletter_test

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
)

func TestTheTableOfHeadersIsWhatALetterHas(t *testing.T) {
	t.Parallel()
	note := deadletter.Note{
		Source: record.Position{Topic: record.TopicEvents, Partition: 3, Offset: 1024},
		Reason: deadletter.ReasonValue, Err: errors.New("x"), At: time.UnixMilli(1795000001000),
		Cut: &deadletter.Sizes{Key: 30, Headers: 7, Value: 5242880},
	}
	letter, err := note.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for i, h := range letter {
		got = append(got, h.Key)
		if pattern := deadletter.LetterHeaders[i].Pattern; !regexp.MustCompile(pattern).Match(h.Value) {
			t.Errorf("%s is %q, which does not match %s", h.Key, h.Value, pattern)
		}
	}
	for _, h := range deadletter.LetterHeaders {
		want = append(want, h.Key)
		if h.Help == "" || !regexp.MustCompile(h.Pattern).MatchString(h.Example) {
			t.Errorf("%s has no help, or the example %q does not match %s", h.Key, h.Example, h.Pattern)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-table +letter):\n%s", diff)
	}
}
