package flagapi

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

func TestAStateIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, s := range []state{
		{at: time.UnixMilli(0)},
		{flagset.Mark{Epoch: 1_790_000_000_000, Version: 17}, 0xabc, now},
		{flagset.Mark{Epoch: math.MinInt64, Version: math.MinInt64}, math.MaxUint64, time.UnixMilli(math.MinInt64)},
	} {
		text := s.String()
		got, ok := parseState(text)
		if !ok || got.mark != s.mark || got.print != s.print || !got.at.Equal(s.at) || len(text) > maxStateLen {
			t.Errorf("%s, of %d bytes, is read as %+v, %t", text, len(text), got, ok)
		}
	}
}

func TestWhatIsNoStateIsOverlooked(t *testing.T) {
	t.Parallel()
	good := state{flagset.Mark{Epoch: 1, Version: 2}, 3, now}.String()
	for _, text := range []string{
		"", ".", "...", "1.2.3.4", good + ".", "." + good, " " + good, good + "\n", "+" + good, "0" + good,
		strings.ToUpper(strings.Replace(good, "0000000000000003", "000000000000000a", 1)),
		strings.Replace(good, "1.", "x.", 1), "9999999999999999999" + good, strings.Repeat("1", maxStateLen) + good,
	} {
		if _, ok := parseState(text); ok {
			t.Errorf("%q is taken for a state", text)
		}
	}
}

func FuzzAStateThatIsReadIsWrittenTheSame(f *testing.F) {
	f.Add(state{flagset.Mark{Epoch: 1, Version: 2}, 3, now}.String())
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := parseState(text); ok && s.String() != text {
			t.Errorf("%q is written as %s", text, s)
		}
	})
}
