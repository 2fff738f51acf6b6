package testkit

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// SlackEnv names the factor by which a test may be later than what it proves is
// promised. DefaultSlack holds where it is not set, for machines that do more than one
// thing; who asserts promises as users were given them sets 1.
const (
	SlackEnv     = "MILLRACE_TEST_SLACK"
	DefaultSlack = 5.0
)

// Promised is how long something may take here that is promised to users within the
// given time: the promise, times the slack. A mechanism that is broken must still be
// told from one that is slow, so what falls back on something slower has to fall back
// on something slower than this.
func Promised(promise time.Duration) time.Duration {
	return time.Duration(float64(promise) * slack)
}

// Strict reports whether bounds are asserted as users were given them: of time, and of
// what depends on it, such as memory under load.
func Strict() bool { return slack <= 1 }

// OnlyStrict skips a test that costs more than it finds in everyday runs: one that shows what goes
// wrong without a lock, a fence or a plan, or that measures. make test-full, make fault and make
// soak run it.
func OnlyStrict(tb testing.TB, shows string) {
	tb.Helper()
	if !Strict() {
		tb.Skipf("%s: runs in make test-full and make fault", shows)
	}
}

var slack = slackFrom(os.Getenv(SlackEnv)) //nolint:forbidigo // tests have no settings but these

// slackFrom panics about a factor that is none: silence would loosen or break every
// bound.
func slackFrom(text string) float64 {
	if text == "" {
		return DefaultSlack
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || !(factor >= 1) { // which NaN is not either
		//nolint:forbidigo // there is nobody to return it to
		panic(fmt.Sprintf("%s is %q and must be a number of at least 1", SlackEnv, text))
	}
	return factor
}
