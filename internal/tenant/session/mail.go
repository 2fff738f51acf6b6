package session

import (
	"fmt"
	"time"
)

// resetMail writes the mail that permits a new password.
func resetMail(publicURL, token string, until time.Time) (subject, body string) {
	return "Set a new Millrace password", fmt.Sprintf(`Hello,

somebody asked for a new password of your account at %s.
If it was you, set it with this token:

    %s

It is good until %s and for one time. If it was not you, ignore
this mail: nothing has changed.
`, publicURL, token, until.UTC().Format(time.RFC1123))
}

// verificationMail writes the mail that shows that an address is its reader's. Nothing in
// it is by whoever signed up.
func verificationMail(publicURL, token string, until time.Time) (subject, body string) {
	return "Verify your e-mail address for Millrace", fmt.Sprintf(`Hello,

somebody signed up at %s with this e-mail address.
If it was you, sign in and verify the address with this token:

    %s

It is good until %s and for one time. If it was not you, ignore
this mail: nothing is mailed in the name of the account.
`, publicURL, token, until.UTC().Format(time.RFC1123))
}

// changedMail writes the mail that tells of a new password.
func changedMail(publicURL string, at time.Time) (subject, body string) {
	return "Your Millrace password was changed", fmt.Sprintf(`Hello,

the password of your account at %s was changed
on %s, and every session was signed out.

If it was not you, ask for a new password now and tell your operator.
`, publicURL, at.UTC().Format(time.RFC1123))
}

// deletedMail writes the mail that tells that an account is no more.
func deletedMail(publicURL string, at time.Time) (subject, body string) {
	return "Your Millrace account was deleted", fmt.Sprintf(`Hello,

your account at %s was deleted
on %s, by somebody who knew its password.

If it was not you, tell your operator.
`, publicURL, at.UTC().Format(time.RFC1123))
}
