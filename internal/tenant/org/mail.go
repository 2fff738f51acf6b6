package org

import (
	"fmt"
	"strings"
	"time"
)

// invitationMail writes the mail of an invitation. Nothing that a member wrote stands in
// the subject, and in the body nothing at length, nor anything that a mail program turns
// into a link: whoever may invite chooses who reads it.
func invitationMail(publicURL string, o *Organization, i *Invitation, inviter, token string) (subject, body string) {
	return "You are invited to an organization on Millrace", fmt.Sprintf(`Hello,

%s invites you to an organization on Millrace, as %s.
They call it "%s".

Sign in at %s with this address, or sign up, and enter this invitation:

    %s

It is good until %s. If you did not expect it, ignore this mail.
`, plainAddress(inviter), i.Role, plainName(o.Name), publicURL, token, i.ExpiresAt.UTC().Format(time.RFC1123))
}

// Limits of what stands in a mail.
const (
	maxShownName  = 40 // code points of a name
	maxShownLocal = 32 // bytes of an address before its @
	maxShownHost  = 64 // bytes of it after the @
)

// linkMarks are the characters by which mail programs find links, in the forms that they
// take for them, and the quotation mark that a name stands between.
const linkMarks = "./:@\\<>\"。．｡／：＠＜＞＼"

// plainName returns a name as it may stand in a mail: shortened, and each of linkMarks
// that does not end a word in brackets, so that "evil.example" becomes "evil[.]example".
// Names are labels: they hold no line break.
func plainName(name string) string {
	var b strings.Builder
	runes := []rune(cut([]rune(name), maxShownName))
	for i, r := range runes {
		endsWord := (r == '.' || r == ':') && (i == len(runes)-1 || runes[i+1] == ' ')
		switch {
		case r == '"':
			b.WriteByte('\'')
		case strings.ContainsRune(linkMarks, r) && !endsWord:
			b.WriteString("[" + string(r) + "]")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainAddress returns an address, in its normal form, as it may stand in a mail: shortened
// and without characters that few addresses have.
func plainAddress(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return plainName(address)
	}
	local := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_+", r) {
			return r
		}
		return '_'
	}, address[:at])
	return cut([]rune(local), maxShownLocal) + "@" + cut([]rune(address[at+1:]), maxShownHost)
}

// cut returns a text of at most so many code points; one that was longer ends with an
// ellipsis.
func cut(text []rune, most int) string {
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most-1]) + "…"
}
