package analyticstest_test

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// lastDigit is how far two numbers may be apart that were rounded to four digits:
// what lies between two of them goes up or down with the last bit of a sum.
const lastDigit = 0.000_101

// diffOf says how an answer differs from the one that is wanted; empty when it does
// not.
func diffOf(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateApprox(0, lastDigit))
}
