package store_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/testkit"
)

func TestOpenSaysWhatIsWrongWithAURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                              "must begin with sqlite: or postgres://",
		"mysql://u:p@host/db":           "must begin with sqlite: or postgres://",
		"millrace.db":                   "must begin with sqlite: or postgres://",
		"sqlite:":                       "needs a path",
		"postgres://u:p@host:port/db":   "cannot be read",
		"sqlite:/no/such/folder/m.db":   "no such file or directory",
		"postgres://u@h/db?sslmode=odd": "cannot be read",
	} {
		s, err := store.Open(t.Context(), url, store.Options{})
		if err == nil {
			_ = s.Close()
			t.Errorf("Open(%q) succeeded", url)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q) = %q, want it to say %q", url, err, want)
		}
	}
}

func TestErrorsNeverHoldThePassword(t *testing.T) {
	t.Parallel()
	closed := testkit.FreeAddr(t)
	const password = "S3cret"
	for _, u := range []string{
		"postgres://ann:" + password + "@" + closed + "/db",
		"postgres://ann:" + password + "@" + closed + "/db?sslmode=nonsense",
		"postgres://ann:" + password + "%zz@" + closed + "/db",
		"postgres://ann:" + password + "/x@" + closed + "/db",
		"postgres://ann:" + password + " x@" + closed + "/db",
		"postgres://ann:" + password + "@no.such.host.invalid/db",
		"postgres://ann@" + closed + "/db?password=" + password,
		"postgres:ann:" + password + "@" + closed,
		"mysql://ann:" + password + "@" + closed + "/db",
		password,
	} {
		s, err := store.Open(t.Context(), u, store.Options{Timeout: 5 * time.Second})
		if err == nil {
			_ = s.Close()
			t.Errorf("Open(%q) succeeded", u)
			continue
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("Open(%q) = %q: it shows the password", u, err)
		}
		if _, parsed := url.Parse(u); parsed != nil && strings.Contains(err.Error(), "zz") {
			t.Errorf("Open(%q) = %q: it shows a part of the password", u, err)
		}
	}
}
