package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kversion"
)

func TestAReleaseIsNamedWhereOneFits(t *testing.T) {
	t.Parallel()
	odd := kversion.V3_9_0()
	odd.SetMaxKeyVersion(1, 0) // as no broker of its age fetches
	for _, tc := range []struct {
		of   *kversion.Versions
		want string
	}{
		{kversion.V2_8_0(), "2.8"}, {kversion.V4_0_0(), "4.0"}, {odd, ""},
	} {
		if got := releaseOf(tc.of); got != tc.want {
			t.Errorf("of %s it is %q, want %q", tc.of.VersionGuess(), got, tc.want)
		}
	}
}
