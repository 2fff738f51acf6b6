package session_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/session"
)

func TestAnAccountIsDeletedByWhoKnowsItsPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	o := w.signIn()
	c := from("192.0.2.1")
	c.Token = o.Token
	f := apierr.Of(w.DeleteAccount(t.Context(), c, w.ann, "wrong"))
	if f.Code != apierr.Validation || f.Details[0].Field != "password" || !w.opens(o.Token) {
		t.Errorf("with a wrong password: %+v", f)
	}
	if err := w.DeleteAccount(t.Context(), c, w.ann, password); err != nil || w.opens(o.Token) {
		t.Errorf("DeleteAccount() = %v", err)
	}
	if _, err := w.SignIn(t.Context(), from("192.0.2.1"), email, password); !apierr.Is(err, apierr.AuthRequired) {
		t.Errorf("signing in afterwards: %v", err)
	}
	if !strings.HasPrefix(w.mail(1), email+"\nYour Millrace account was deleted\n") {
		t.Errorf("the mail is %s", w.mail(1))
	}
}

func TestGuessesAtThePasswordOfADeletionAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := from("192.0.2.1")
	c.Token = w.signIn().Token
	burst := session.Allowances.KnownSignIns.Burst
	for i := range burst + 1 {
		err := w.DeleteAccount(t.Context(), c, w.ann, "wrong")
		if want := i == burst; apierr.Is(err, apierr.RateLimited) != want {
			t.Fatalf("guess %d: %v", i+1, err)
		}
	}
}
