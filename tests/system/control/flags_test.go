package control_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/tenant/website"
	"github.com/millrace/millrace/tests/harness"
)

// flagged is a website with one flag.
type flagged struct {
	*stage

	site *website.Website
	flag *flag.Flag
}

func (s *stage) flags() *flag.Service {
	return flag.NewService(flag.Limits(), flag.Deps{Store: s.db, Versions: s.db, Segments: s.db})
}

// withFlag makes an active flag that serves "on" to everybody, and has each query host hold it.
func (s *stage) withFlag(t *testing.T) *flagged {
	t.Helper()
	f := &flagged{stage: s, site: s.site(t, s.organizationID)}
	spec := flag.Spec{OrganizationID: s.organizationID, WebsiteID: f.site.ID, Key: "new-nav", Type: flag.Boolean}
	var err error
	if f.flag, err = s.flags().Create(t.Context(), operator, spec, flag.Fields{}); err != nil {
		t.Fatal(err)
	}
	f.turn(t, flag.Enabled)
	f.serves(t, "a flag, before", true, time.Now(), patient)
	return f
}

// turn switches the flag, and returns when that was committed.
func (f *flagged) turn(t *testing.T, action managed.Action) time.Time {
	t.Helper()
	target := flag.Target{Target: managed.Target{OrganizationID: f.organizationID, Ref: f.flag.ID}}
	if _, err := f.flags().Switch(t.Context(), operator, target, action); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

// serves expects of each query host that it serves the flag, or does not know it.
func (f *flagged) serves(t *testing.T, what string, on bool, since time.Time, limit time.Duration) {
	t.Helper()
	want := `{"enabled":false,"value":false,"payload":null,"reason":"FLAG_NOT_FOUND"}`
	if on {
		want = `{"enabled":true,"value":true,"payload":null,"reason":"BOOLEAN_DEFAULT","variant":"on"}`
	}
	within(t, f.queries(), what, since, limit, func(h *host) error {
		a, err := harness.Get(t.Context(), h.base+"/public/v1/flags/evaluate?"+url.Values{
			"clientId": {f.site.ClientID}, "key": {f.flag.Key()}, "userId": {"ann"},
		}.Encode(), "")
		if err == nil && (a.Status != http.StatusOK || string(a.Body) != want) {
			err = fmt.Errorf("%s answers %d %s, want %s", h.name, a.Status, a.Body, want)
		}
		return err
	})
}

// switchedFlag is served by all query hosts as it is now, within the limit.
func (s *stage) switchedFlag(t *testing.T, limit time.Duration) {
	t.Helper()
	f := s.withFlag(t)
	f.serves(t, "a flag that was turned off", false, f.turn(t, flag.Disabled), limit)
	f.serves(t, "a flag that was turned on", true, f.turn(t, flag.Enabled), limit)
}

func switchedFlag(t *testing.T, s *stage) { s.switchedFlag(t, atOnce) }

// goesOn expects of each query host that it answers by each of the routes.
func (f *flagged) goesOn(t *testing.T, what string) {
	t.Helper()
	f.serves(t, what, true, time.Now(), late)
	id := url.QueryEscape(f.site.ClientID)
	within(t, f.queries(), what+", in bulk", time.Now(), late, func(h *host) error {
		a, err := harness.Get(t.Context(), h.base+"/public/v1/flags/bulk?clientId="+id, "")
		if err == nil && !bytes.Contains(a.Body, []byte(`"new-nav":{"enabled":true`)) {
			err = fmt.Errorf("%s answers %d %s", h.name, a.Status, a.Body)
		}
		return err
	})
	within(t, f.queries(), what+", by OFREP", time.Now(), late, func(h *host) error {
		a, err := harness.Post(t.Context(), h.base+"/public/v1/flags/"+id+"/ofrep/v1/evaluate/flags/new-nav", "",
			[]byte(`{"context":{"targetingKey":"ann"}}`))
		if err == nil && !bytes.Contains(a.Body, []byte(`"value":true`)) {
			err = fmt.Errorf("%s answers %d %s", h.name, a.Status, a.Body)
		}
		return err
	})
}
