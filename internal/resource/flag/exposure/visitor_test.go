package exposure

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/tenant/website"
)

func TestWhomAnExposureIsOf(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("é", 256)
	for _, tc := range []struct {
		user, email, visitor string
		id                   string
		is                   kind
	}{
		{"user-1", "a@b.example", "anon_1", "user-1", user},
		{"anon_1", "a@b.example", "", "anon_1", anonymous},
		{"", "a@b.example", "anon_1", "a@b.example", address},
		{"a@b.example", "", "", "a@b.example", address},
		{"", "no-address", "", "no-address", address},
		{"", "", "anon_1", "anon_1", anonymous},
		{"", "", "device-1", "device-1", anonymous},
		{"", "", "a@b.example", "a@b.example", address},
		{"anonymous", "", "anon_1", "anon_1", anonymous},
		{"anonymous", "", "", "", nobody},
		{"anonymous", "", "anonymous", "", nobody},
		{"", "", "", "", nobody},
		{longest, "", "", longest, user},
		{longest + "é", "", "", "", nobody},
		{"a\xff", "", "", "", nobody},
	} {
		e := &Exposure{UserID: tc.user, Email: tc.email, AnonymousID: tc.visitor}
		if id, is := e.visitor(); id != tc.id || is != tc.is {
			t.Errorf("user %.9q, e-mail %q, visitor %q: %.9q, a %d; want %.9q, a %d",
				tc.user, tc.email, tc.visitor, id, is, tc.id, tc.is)
		}
	}
}

func TestIDsAreHiddenAsEventsAre(t *testing.T) {
	t.Parallel()
	for _, setting := range append(website.AnonymizeModes, "") {
		for _, country := range []string{"US", "AT", ""} {
			w := &website.Website{Settings: website.Settings{AnonymizeVisitorIDs: setting}}
			parsed, _ := event.ParseAnonymize(setting)
			want := event.HidesVisitor(event.AnonymizeUnset, parsed) && (setting != "auto" || country != "US")
			if got := hides(w, country); got != want {
				t.Errorf("setting %q in %q hides: %t", setting, country, got)
			}
		}
	}
}
