package redirect

import (
	"strconv"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
)

func bounded(most int64) *link.Link {
	return &link.Link{Slug: "few", Enabled: true, URL: "https://a.example", MaxClicks: most}
}

func TestOnlyPeopleUseClicksUp(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(2))
	for _, ask := range []func(*Request){
		as(crawler), as(preview), func(r *Request) { r.Head = true }, func(r *Request) { r.Prefetch = true },
	} {
		if a, err := s.ask(t, "few", ask); err != nil || a.Kind != Redirected {
			t.Errorf("%+v, %v", a, err)
		}
	}
	for i := range 2 {
		if _, err := s.ask(t, "few", nil); err != nil {
			t.Errorf("click %d: %v", i+1, err)
		}
	}
	for _, ask := range []func(*Request){func(r *Request) { r.Head = true }, nil, as(crawler), nil} {
		if _, err := s.ask(t, "few", ask); code(err) != apierr.Gone {
			t.Errorf("once they are used up: %v", err)
		}
	}
	if s.uses["lnk_few"] != 2 {
		t.Errorf("%d uses", s.uses["lnk_few"])
	}
}

func TestAnExhaustedLinkIsRememberedUntilItChanges(t *testing.T) {
	t.Parallel()
	l := bounded(1)
	l.ExpiredURL = "https://over.example"
	s := newStage(t, l)
	for _, want := range []Kind{Redirected, Elsewhere, Elsewhere, Elsewhere} {
		if a, err := s.ask(t, "few", nil); err != nil || a.Kind != want {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if s.asked != 2 {
		t.Errorf("the store was asked %d times", s.asked)
	}
	more := bounded(2)
	more.Version = 1
	s.put(more)
	if a, err := s.ask(t, "few", nil); err != nil || a.Kind != Redirected {
		t.Errorf("with one more: %+v, %v", a, err)
	}
}

func TestNobodyIsRedirectedUncounted(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(1))
	s.away = errAway
	for _, ask := range []func(*Request){nil, func(r *Request) { r.Head = true }} {
		if _, err := s.ask(t, "few", ask); code(err) != apierr.ServiceUnavailable {
			t.Errorf("with the store away: %v", err)
		}
	}
	if len(s.clicks) != 0 {
		t.Errorf("%d clicks", len(s.clicks))
	}
}

func TestThePasswordComesBeforeTheUse(t *testing.T) {
	t.Parallel()
	l := guarded()
	l.MaxClicks = 1
	s := newStage(t, l)
	ask := func(change func(*Request)) Response {
		a, err := s.ask(t, "vault", change)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := ask(nil); a.Kind != AskPassword || s.uses[l.ID] != 0 {
		t.Errorf("the form: %+v after %d uses", a, s.uses[l.ID])
	}
	pass := ask(typed("secret"))
	if a := ask(with(pass.Pass)); a.Kind != Redirected || s.uses[l.ID] != 1 {
		t.Errorf("with a pass: %+v after %d uses", a, s.uses[l.ID])
	}
	if _, err := s.ask(t, "vault", nil); code(err) != apierr.Gone {
		t.Errorf("the form, once the link is exhausted: %v", err)
	}
}

func TestManyAtOnceGetAsManyRedirectsAsThereAre(t *testing.T) {
	t.Parallel()
	s := newStage(t, bounded(100))
	var wg sync.WaitGroup
	var mu sync.Mutex
	redirects := 0
	for range 1000 {
		wg.Go(func() {
			if _, err := s.ask(t, "few", nil); err == nil {
				mu.Lock()
				redirects++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if redirects != 100 || len(s.clicks) != 100 {
		t.Errorf("%d redirects, %d clicks", redirects, len(s.clicks))
	}
}

func TestExhaustedLinksAreForgottenBeyondABound(t *testing.T) {
	t.Parallel()
	var s spent
	for i := range 3 * maxSpent {
		s.add(strconv.Itoa(i), 1)
		s.has("0", 1) // which is asked for all the time
		if len(s.young) > maxSpent || len(s.old) > maxSpent {
			t.Fatalf("%d and %d are remembered", len(s.young), len(s.old))
		}
	}
	if !s.has("0", 1) || s.has("0", 2) || !s.has(strconv.Itoa(3*maxSpent-1), 1) || s.has("1", 1) {
		t.Error("another one is forgotten than the one asked for least recently")
	}
}
