package org

import (
	"strings"
	"testing"
	"time"
)

func TestANameInAMailIsShortAndNoLink(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Acme":                              "Acme",
		"Acme Inc.":                         "Acme Inc.",
		"Söhne & Co. KG: the 2nd":           "Söhne & Co. KG: the 2nd",
		"booking.example":                   "booking[.]example",
		"Win at https://evil.example/now":   "Win at https[:][/][/]evil[.]example[/]now",
		"ask me@evil.example":               "ask me[@]evil[.]example",
		"evil。example or evil．example":      "evil[。]example or evil[．]example",
		`<a href="x">`:                      `[<]a href='x'[>]`,
		strings.Repeat("日", maxShownName):   strings.Repeat("日", maxShownName),
		strings.Repeat("日", maxShownName+1): strings.Repeat("日", maxShownName-1) + "…",
	} {
		if got := plainName(name); got != want {
			t.Errorf("plainName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestAnAddressInAMailIsShortAndPlain(t *testing.T) {
	t.Parallel()
	local, host := strings.Repeat("a", maxShownLocal), strings.Repeat("b", maxShownHost)
	for address, want := range map[string]string{
		"ann.smith+x@shop.example":    "ann.smith+x@shop.example",
		"www.evil.example/win?@x.org": "www.evil.example_win_@x.org",
		"a@b@c.org":                   "a_b@c.org",
		local + "@" + host:            local + "@" + host,
		local + "a@" + host + "b":     local[1:] + "…@" + host[1:] + "…",
		"no address":                  "no address",
	} {
		if got := plainAddress(address); got != want {
			t.Errorf("plainAddress(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestAnInvitationsSubjectIsAlwaysTheSame(t *testing.T) {
	t.Parallel()
	o := &Organization{Name: "You won. Go to evil.example"}
	i := &Invitation{Role: RoleViewer, ExpiresAt: time.Unix(0, 0)}
	subject, body := invitationMail("https://api.example.com", o, i, "eve@example.com", "TOKEN")
	if subject != "You are invited to an organization on Millrace" {
		t.Errorf("the subject is %q", subject)
	}
	for _, part := range []string{`"You won. Go to evil[.]example"`, "eve@example.com", "\n    TOKEN\n"} {
		if !strings.Contains(body, part) {
			t.Errorf("the mail lacks %q: %s", part, body)
		}
	}
}
