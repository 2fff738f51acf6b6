package ingest

import (
	"context"
	"testing"

	"github.com/millrace/millrace/internal/tenant/website"
)

// honouring is a world whose websites all honour both signals.
type honouring struct{ *world }

func (h honouring) ClientWebsite(ctx context.Context, clientID string) (*website.Website, error) {
	return honoured(h.world.ClientWebsite(ctx, clientID))
}

func (h honouring) Website(ctx context.Context, ref string) (*website.Website, error) {
	return honoured(h.world.Website(ctx, ref))
}

func honoured(w *website.Website, err error) (*website.Website, error) {
	if err != nil {
		return nil, err
	}
	is := *w
	is.HonorGlobalPrivacyControl, is.HonorDoNotTrack = true, true
	return &is, nil
}

func TestWhoDeclinesIsNotCollected(t *testing.T) {
	t.Parallel()
	const body = `[{"name":"a","anonymousId":"v"},{"name":"b"}]`
	for name, tc := range map[string]struct {
		honours bool
		key     string
		signals website.Signals
		taken   int
	}{
		"a browser that says nothing": {true, "", website.Signals{}, 2},
		"Global Privacy Control":      {true, "", website.Signals{GlobalPrivacyControl: true}, 0},
		"Do Not Track":                {true, "", website.Signals{DoNotTrack: true}, 0},
		"a website that does not honour them": {
			false, "", website.Signals{GlobalPrivacyControl: true, DoNotTrack: true}, 2,
		},
		"a server, whose headers are not a visitor's": {
			true, "global", website.Signals{GlobalPrivacyControl: true, DoNotTrack: true}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{}
			a := w.acceptor()
			if tc.honours {
				a.deps.Access = honouring{w}
			}
			req := request(tc.key, "client-1", body)
			req.Signals = tc.signals
			got, err := a.Accept(t.Context(), req)
			if err != nil || got.Count != tc.taken || got.Silent != (tc.taken == 0) || len(w.published) != tc.taken {
				t.Errorf("Accept() = %+v, %v, and %d records; want %d", got, err, len(w.published), tc.taken)
			}
		})
	}
}
