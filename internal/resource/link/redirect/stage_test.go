package redirect

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/pipeline/enrich"
	"github.com/millrace/millrace/internal/platform/fair"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/click"
)

const (
	person  = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	preview = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"
)

var (
	noon    = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	visitor = netip.MustParseAddr("192.0.2.7")
)

// stage is a host whose neighbours are made up.
type stage struct {
	*Host

	mu     sync.Mutex
	now    time.Time
	links  map[string]*link.Link // by key
	known  *link.Index           // of domains and blocks
	uses   map[string]int64
	away   error // of the store, for uses
	asked  int   // for uses
	looked int   // for links
	clicks []click.Click
	share  fair.Owner // of the last password
}

func newStage(t *testing.T, links ...*link.Link) *stage {
	t.Helper()
	s := &stage{now: noon, known: new(link.Index), links: map[string]*link.Link{}, uses: map[string]int64{}}
	for _, l := range links {
		s.put(l)
	}
	s.Host = New(Config{SharedHost: "go.example"},
		Deps{Links: s, Directory: s, Uses: s, Visitors: newAgents(t), Passwords: s, Clicks: s, Now: s.clock})
	return s
}

func (s *stage) put(l *link.Link) { s.putOn(link.ServedDomain{}, l) }

// putOn adds a link to a domain, or the shared host where its id is empty.
func (s *stage) putOn(d link.ServedDomain, l *link.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.RedirectStatus == 0 {
		l.RedirectStatus = link.DefaultStatus
	}
	if l.ID == "" {
		l.ID = "lnk_" + l.Slug
	}
	s.links[link.KeyOn(d.ID, d.CaseSensitive, l.Slug)] = l
}

func (s *stage) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stage) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// Find implements Links.
func (s *stage) Find(_ context.Context, key []byte, _ time.Time, to *link.Served) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked++
	l := s.links[string(key)]
	if l == nil {
		return link.ErrNotFound
	}
	*to = *l.Served()
	to.SlugKey, to.DomainID = string(key), link.DomainOf(string(key))
	return nil
}

// Directory implements Directory.
func (s *stage) Directory() *link.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// know has the stage know domains and blocks.
func (s *stage) know(d *link.Directory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = d.Index()
}

// UseLink implements Uses.
func (s *stage) UseLink(_ context.Context, id string, most int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.away != nil || s.uses[id] >= most {
		return false, s.away
	}
	s.uses[id]++
	return true, nil
}

// LinkByID implements Uses.
func (s *stage) LinkByID(_ context.Context, id string) (*link.Link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return &link.Link{Uses: s.uses[id]}, s.away
}

// Verify implements Passwords: a hash is its password behind a sign.
func (s *stage) Verify(_ context.Context, share fair.Owner, hash, password string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share = share
	return hash == "#"+password, nil
}

// Take implements Clicks.
func (s *stage) Take(c *click.Click) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clicks = append(s.clicks, *c)
}

// agents implements Visitors without places.
type agents struct{ *enrich.Agents }

func newAgents(tb testing.TB) agents {
	tb.Helper()
	a := agents{enrich.NewAgents(0)}
	tb.Cleanup(a.Close)
	return a
}

// Visitor implements Visitors.
func (a agents) Visitor(_ netip.Addr, userAgent []byte) enrich.Visitor {
	return enrich.Visitor{Agent: a.Of(userAgent), Place: enrich.Place{Country: "DE"}}
}

// ask asks as a person does, but for what is changed.
func (s *stage) ask(t *testing.T, slug string, change func(*Request)) (Response, error) {
	t.Helper()
	v := s.Visit()
	defer s.Release(v)
	v.Host, v.Path, v.Addr, v.UserAgent = []byte("go.example"), []byte("/"+slug), visitor, []byte(person)
	if change != nil {
		change(&v.Request)
	}
	err := s.Decide(t.Context(), v)
	a := v.Response
	a.Location = append([]byte(nil), a.Location...)
	return a, err
}

// code is that of a rejection, and empty without one.
func code(err error) apierr.Code {
	if err == nil {
		return ""
	}
	return apierr.Of(err).Code
}

var errAway = errors.New("the store is away")
