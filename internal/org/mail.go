package org

import (
	"fmt"
	"time"
)

// invitationMail writes the mail of an invitation. Names are labels: they hold no
// line break.
func invitationMail(publicURL string, o *Organization, i *Invitation, inviter, token string) (subject, body string) {
	subject = fmt.Sprintf("Invitation to %s on Millrace", o.Name)
	body = fmt.Sprintf(`Hello,

%s invites you to the organization %q on Millrace as %s.

Sign in at %s with this address, or sign up, and enter this invitation:

    %s

It is good until %s. If you did not expect it, ignore this mail.
`, inviter, o.Name, i.Role, publicURL, token, i.ExpiresAt.UTC().Format(time.RFC1123))
	return subject, body
}
