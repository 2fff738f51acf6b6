package management_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/privacy/erasure"
)

// request is an erasure as the wire has it.
type request struct {
	ID, Kind, State, Note string
	WebsiteID             *string
	HashedDays            []string
	DeletedRows           map[string]int64
	DoneAt                *string
}

func TestAVisitorIsErasedByOneOfTwoIDsOrBoth(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := do[site](d, "owner", "websites/create", `{"name":"Shop","domain":"shop.example"}`)
	if _, err := d.db.Salt(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	longest := strings.Repeat("é", 256)
	for _, tc := range []struct {
		body, kind string
		website    bool
		stones     int
	}{
		{`{"websiteId":"` + w.ID + `","profileId":"anna"}`, "profile", true, 1},
		{`{"websiteId":"` + w.ClientID + `","anonymousId":"v1"}`, "visitor", true, 2}, // itself, and hashed as of today
		{`{"websiteId":"` + w.ID + `","profileId":"anna","anonymousId":"v1"}`, "profile", true, 3},
		{`{"profileId":"` + longest + `"}`, "profile", false, 1},
		// As events may have it.
		{`{"profileId":"a\u0000b"}`, "profile", false, 1},
		{`{"anonymousId":"a\u0000b"}`, "visitor", false, 2},
	} {
		today := func() []string { return []string{time.Now().UTC().Format(time.DateOnly)} }
		before := today() // which midnight may make yesterday
		got := do[request](d, "admin", "profiles/delete", tc.body)
		if got.Kind != tc.kind || got.State != "requested" || (got.WebsiteID != nil) != tc.website || got.DoneAt != nil ||
			!strings.Contains(got.Note, "Topics") {
			t.Errorf("%s: %+v", tc.body, got)
		}
		if tc.kind == "visitor" && !slices.Equal(got.HashedDays, before) && !slices.Equal(got.HashedDays, today()) {
			t.Errorf("hashed days are %v", got.HashedDays)
		}
		kept, err := d.db.Erasure(t.Context(), got.ID)
		if err != nil || len(kept.Stones) != tc.stones {
			t.Errorf("%s: kept are %+v, %v", tc.body, kept, err)
		}
		if again := do[request](d, "admin", "erasures/get", `{"id":"`+got.ID+`"}`); !cmp.Equal(got, again) {
			t.Errorf("erasures/get: %+v, want %+v", again, got)
		}
	}
	for _, bad := range []string{
		`{"websiteId":"` + w.ID + `"}`, `{"profileId":""}`, `{"anonymousId":""}`,
		`{"profileId":"` + longest + `é"}`, `{"anonymousId":"` + longest + `é"}`, `{"websiteId":"a\u0000","profileId":"b"}`,
	} {
		d.rejected("admin", "profiles/delete", bad, http.StatusBadRequest, apierr.Validation)
	}
	if entries, err := d.db.OpenErasures(t.Context(), erasure.Selection{Limit: 10}); err != nil || len(entries) != 6 {
		t.Errorf("%d erasures, %v", len(entries), err)
	}
}

func TestErasuresStayWithinTheTenant(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	w := do[site](d, "owner", "websites/create", `{"name":"Shop","domain":"shop.example"}`)
	other := do[site](d, "owner", "websites/create", `{"name":"Blog","domain":"blog.example"}`)
	mine := do[request](d, "owner", "profiles/delete", `{"websiteId":"`+w.ID+`","profileId":"anna"}`)

	d.rejected("stranger", "profiles/delete", `{"websiteId":"`+w.ID+`","profileId":"anna"}`,
		http.StatusNotFound, apierr.NotFound)
	d.rejected("stranger", "erasures/get", `{"id":"`+mine.ID+`"}`, http.StatusNotFound, apierr.NotFound)
	d.rejected("stranger", "erasures/list", `{"websiteId":"`+w.ID+`"}`, http.StatusNotFound, apierr.NotFound)
	d.rejected("owner", "erasures/get", `{"id":"era_none"}`, http.StatusNotFound, apierr.NotFound)
	d.rejected("editor", "profiles/delete", `{"websiteId":"`+w.ID+`","profileId":"anna"}`,
		http.StatusForbidden, apierr.Forbidden)
	d.rejected("", "profiles/delete", `{"profileId":"anna"}`, http.StatusUnauthorized, apierr.AuthRequired)

	limited, global := d.key(w.ID, "manage:websites"), d.key("", "manage:websites")
	d.rejected(d.key("", "read:data"), "profiles/delete", `{"profileId":"anna"}`, http.StatusForbidden, apierr.Forbidden)
	d.rejected(limited, "profiles/delete", `{"websiteId":"`+other.ID+`","profileId":"anna"}`,
		http.StatusForbidden, apierr.AccessDenied)
	if got := do[request](d, limited, "profiles/delete", `{"profileId":"ben"}`); got.WebsiteID == nil ||
		*got.WebsiteID != w.ID {
		t.Errorf("a key of a website erases from %v", got.WebsiteID)
	}
	waitMilli() // lists go by the time of ids
	elsewhere := do[request](d, global, "profiles/delete", `{"websiteId":"`+other.ID+`","profileId":"anna"}`)
	d.rejected(limited, "erasures/get", `{"id":"`+elsewhere.ID+`"}`, http.StatusNotFound, apierr.NotFound)
	if got := do[[]request](d, limited, "erasures/list", `{}`); len(got) != 2 {
		t.Errorf("a key of a website lists %d erasures, want its 2", len(got))
	}
	if got := do[[]request](d, global, "erasures/list", `{"limit":2}`); len(got) != 2 || got[0].ID != elsewhere.ID {
		t.Errorf("a key of the organization lists %+v", got)
	}
	if got := do[[]request](d, "stranger", "erasures/list", `{}`); len(got) != 0 {
		t.Errorf("a stranger lists %+v", got)
	}
}
