package testkit

import "testing"

func TestTheSlackIsANumberOfAtLeastOne(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"": DefaultSlack, "1": 1, "2.5": 2.5} {
		if got := slackFrom(text); got != want {
			t.Errorf("%q is a slack of %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"0.9", "-3", "much", "NaN"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("nobody complains")
				}
			}()
			slackFrom(text)
		})
	}
}
