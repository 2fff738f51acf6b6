package flagapi

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/platform/admission"
	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// heavy are flags whose values have as many bytes as they may.
func heavy(n int) []*flag.Flag {
	value := json.RawMessage(`"` + strings.Repeat("v", flageval.MaxPayloadBytes-2) + `"`)
	all := make([]*flag.Flag, n)
	for i := range all {
		all[i] = text(fmt.Sprintf("heavy-%04d", i), func(f *flag.Flag) { f.Definition.Variants[0].Value = value })
	}
	return all
}

// listed are the keys of flags as a parameter.
func listed(flags []*flag.Flag) string {
	var keys []string
	for _, f := range flags {
		keys = append(keys, f.Key())
	}
	return strings.Join(keys, ",")
}

// roomy is an app around flags whose large responses may take so much memory.
func roomy(t *testing.T, flags []*flag.Flag, memory int64, change ...func(*Deps)) (*fiber.App, *admission.Gate) {
	t.Helper()
	gate := admission.New(admission.Config{Host: "test", Memory: memory},
		admission.Deps{Metrics: prometheus.NewRegistry()})
	app := httpkit.New(httpkit.Config{Host: httpkit.Query, Page: Page, Open: Elsewhere, Admission: gate},
		httpkit.Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
	deps := tenants{set: testSet(t, flags)}.deps()
	for _, f := range change {
		f(&deps)
	}
	Mount(app, deps)
	return app, gate
}

// askAll asks for flags by each way that answers many at once.
func askAll(t *testing.T, app *fiber.App, flags []*flag.Flag, headers ...string) map[string]reply {
	t.Helper()
	return map[string]reply{
		"all":   send(t, app, http.MethodGet, bulkPath+"?clientId=public-1", headers...),
		"named": send(t, app, http.MethodGet, bulkPath+"?clientId=public-1&keys="+listed(flags), headers...),
		"ofrep": post(t, app, ofrepPath, about(`"targetingKey":"ann"`), headers...),
	}
}

func TestALargeResponseClaimsItsMemory(t *testing.T) {
	t.Parallel()
	const memory = 1 << 20
	flags := heavy(8)
	app, gate := roomy(t, flags, memory)
	etags := map[string]string{}
	for way, got := range askAll(t, app, flags) {
		if got.Status != http.StatusOK || len(got.Body) < 8*flageval.MaxPayloadBytes || !json.Valid([]byte(got.Body)) {
			t.Errorf("%s: %d, %d bytes", way, got.Status, len(got.Body))
		}
		etags[way] = got.Header.Get("ETag")
	}
	for way, etag := range etags {
		if got := askAll(t, app, flags, "If-None-Match", etag)[way]; got.Status != http.StatusNotModified || got.Body != "" {
			t.Errorf("%s that has not changed: %d, %d bytes", way, got.Status, len(got.Body))
		}
	}
	if n := gate.Used(); n != 0 {
		t.Errorf("%d bytes are claimed after all was sent", n)
	}
}

func TestALargeResponseWithoutRoomIsRejected(t *testing.T) {
	t.Parallel()
	large, small := heavy(keptBytes/flageval.MaxPayloadBytes), heavy(keptBytes/flageval.MaxPayloadBytes-1)
	for _, tc := range []struct {
		flags []*flag.Flag
		want  int
	}{{large, http.StatusServiceUnavailable}, {small, http.StatusOK}} {
		app, gate := roomy(t, tc.flags, 1<<20, func(d *Deps) {
			d.Exposures = exposing(func(x *Exposure) {
				if tc.want != http.StatusOK {
					t.Errorf("%s is exposed, and nobody was served it", x.Flag.Key())
				}
			})
		})
		others := gate.Open(admission.Response, "others", "")
		if err := others.Take(1 << 20); err != nil { // which is as much as there is for large ones
			t.Fatal(err)
		}
		before := gate.Used()
		for way, got := range askAll(t, app, tc.flags) {
			if got.Status != tc.want || (tc.want != http.StatusOK) != (got.Header.Get("Retry-After") != "") {
				t.Errorf("%s of %d flags: %d %v, want %d", way, len(tc.flags), got.Status, got.Header, tc.want)
			}
		}
		if n := gate.Used(); n != before {
			t.Errorf("%d bytes are claimed after all, %d before", n, before)
		}
	}
}

// As many flags as there may be, with values as large as they may be, are one claim.
func TestAllFlagsThatThereMayBeAreAnswered(t *testing.T) {
	t.Parallel()
	flags := heavy(flag.MaxFlags)
	app, gate := roomy(t, flags, 64<<20)
	got := send(t, app, http.MethodGet, bulkPath+"?clientId=public-1")
	if got.Status != http.StatusOK || !strings.Contains(got.Body, fmt.Sprintf(`"count":%d,`, flag.MaxFlags)) {
		t.Errorf("%d, %d bytes", got.Status, len(got.Body))
	}
	if n := gate.Used(); n != 0 {
		t.Errorf("%d bytes are claimed after all was sent", n)
	}
}

func TestNoEntryIsLongerThanItsClaim(t *testing.T) {
	t.Parallel()
	set := testSet(t, append(testFlags(), heavy(1)...))
	for f := range set.All("web_1") {
		for i := range f.Definition.Variants {
			for reason := range flageval.ByDefault + 1 {
				r := flageval.Result{Variant: i, Reason: reason, Segment: true}
				for _, entry := range [][]byte{
					appendResult([]byte(`,"`+f.Key()+`":`), f, r), appendServed([]byte(","), f, "", r),
					appendFailure([]byte(","), f.Key(), true, targetingKeyMissing, noTargetingKey),
				} {
					if len(entry) > entryBytes(f) {
						t.Errorf("%d bytes are claimed for %s", entryBytes(f), entry)
					}
				}
			}
		}
	}
}
