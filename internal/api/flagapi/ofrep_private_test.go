package flagapi

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// TestNothingOfAContextOfTheProtocolIsTold is TestNothingOfAContextIsTold for bodies.
func TestNothingOfAContextOfTheProtocolIsTold(t *testing.T) {
	t.Parallel()
	const said = `"` + marker + `"`
	bodies := []string{
		about(`"targetingKey":` + said + `,"email":` + said + `,"anonymousId":` + said + `,"environment":` + said),
		about(`"plan":` + said + "," + said + ":[" + said + "]"), about(`"targetingKey":` + said + `,"plan":` + said),
		about(`"email":[` + said + `]`), about(`"email":"` + strings.Repeat(marker, 20) + `"`),
		about(`"plan":{` + said + `:1}`),
		`{"context":` + said + `}`, `{"context":{"email":` + said, said, `{` + said + `:` + said + `}`, marker,
		about("\"email\":\"" + marker + "\xff\""),
	}
	for name, change := range map[string]func(*Deps){
		"as always":       func(*Deps) {},
		"without sets":    func(d *Deps) { d.Sets = tenants{err: apierr.New(apierr.ServiceUnavailable)} },
		"a fault of sets": func(d *Deps) { d.Sets = tenants{err: http.ErrBodyNotAllowed} },
		"a fault of ours": func(d *Deps) {
			d.Country = func(netip.Addr) string { panic(marker) } //nolint:forbidigo // what is tested
		},
		"a fault of flags": func(d *Deps) { d.Exposures = failing{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, told := watched(t, change)
			for _, body := range bodies {
				for _, path := range []string{ofrepPath, ofrepPath + "/nav", ofrepPath + "/split", ofrepPath + "/nothing"} {
					for _, secret := range []string{"", "manager", "bad"} {
						got := post(t, app, path, body, "X-Api-Key", secret)
						if strings.Contains(got.Body, "marker-7f3a") {
							t.Errorf("%s %s is answered %d %s", path, body, got.Status, got.Body)
						}
					}
				}
			}
			text := told.text(t)
			if at := strings.Index(text, "marker-7f3a"); at >= 0 || !strings.Contains(text, "msg=request") {
				t.Errorf("the host tells …%s…", text[max(0, at-300):min(len(text), at+100)])
			}
		})
	}
}

func TestOneFlagThatIsServedIsExposed(t *testing.T) {
	t.Parallel()
	const context = `"targetingKey":"ann","email":"e","environment":"x"`
	for path, want := range map[string][]string{
		ofrepPath + "/split":   {"web_1 split 1 split u=ann e=e a= env=x true"},
		ofrepPath + "/nothing": nil,
		ofrepPath + "/resting": nil,
		ofrepPath:              nil,
	} {
		to := &exposedTo{}
		app := mounted(t, testFlags(), func(d *Deps) { d.Exposures = to })
		post(t, app, path, about(context))
		if diff := cmp.Diff(want, to.told); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
