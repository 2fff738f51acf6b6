package main

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/event"
)

func TestEveryEventHasTheSizeThatTheFiguresSpeakOf(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 499, 40_008, 1_199_999, 1 << 30} {
		body := appendEvent(nil, n, time.Now(), true)
		if len(body) != eventBytes {
			t.Errorf("event %d has %d bytes, want %d: %s", n, len(body), eventBytes, body)
		}
		if _, err := new(event.Decoder).Decode(body); err != nil {
			t.Errorf("event %d: %v", n, err)
		}
	}
}
