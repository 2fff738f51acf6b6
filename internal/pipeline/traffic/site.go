package traffic

import (
	"fmt"
	"math"
	"time"
)

// Site is a website that has visitors.
type Site struct {
	// ID and Organization are the ids under which its events are stored.
	ID, Organization string
	// Host is where its pages are.
	Host string
}

// Config says whose traffic it is, and how it is mixed. A zero share is none.
type Config struct {
	// Seed decides everything but the ids, which Run decides besides.
	Seed, Run uint64
	Sites     []Site
	// Bots is the share of visits by programs that say so.
	Bots float64
}

// RunAt returns the number of a run that begins at a time, which is that of no run that begins
// at another. It is one that every reader of JSON keeps.
func RunAt(begins time.Time) uint64 { return uint64(begins.UnixMicro()) }

// World is what the sources of one traffic share. It is safe for concurrent use.
type World struct {
	cfg   Config
	sites []site
}

// site is a Site with what its visitors find.
type site struct {
	id, organization, host, origin []byte
	pages                          []page
	actions                        []action
	regulars                       int // visitors that may come back
}

type page struct{ path, title []byte }

// The pages of a website: the first has most.
const (
	mostPages, fewestPages = 600, 40
	mostRegulars           = 200_000
	fewestRegulars         = 200
)

// fixedPages are those that every website has.
var fixedPages = []struct{ path, title string }{
	{"/", "Home"},
	{"/pricing", "Pricing"},
	{"/blog", "Blog"},
	{"/about", "About us"},
	{"/login", "Log in"},
	{"/contact", "Contact"},
}

// sections are what further pages are called, by the kind of website.
var sections = []struct{ path, title string }{
	{"/products/item-%03d", "Item %d – Shop"},
	{"/blog/post-%03d", "Post %d – Blog"},
	{"/docs/chapter-%03d", "Chapter %d – Documentation"},
}

// NewWorld lays out the websites: the first is the largest.
func NewWorld(cfg Config) *World {
	w := &World{cfg: cfg, sites: make([]site, len(cfg.Sites))}
	for i := range cfg.Sites {
		of := &cfg.Sites[i]
		s := &w.sites[i]
		s.id, s.organization, s.host, s.origin = []byte(of.ID), []byte(of.Organization), []byte(of.Host),
			[]byte("https://"+of.Host)
		r := random(mix(cfg.Seed, uint64(i)))
		share := 1 / math.Sqrt(float64(i+1))
		s.regulars = max(fewestRegulars, int(mostRegulars*share*share))
		pages, kind := max(fewestPages, int(mostPages*share)), r.below(len(sections))
		for _, p := range fixedPages {
			s.pages = append(s.pages, page{[]byte(p.path), []byte(p.title)})
		}
		for n := len(s.pages); n < pages; n++ {
			s.pages = append(s.pages, page{fmt.Appendf(nil, sections[kind].path, n), fmt.Appendf(nil, sections[kind].title, n)})
		}
		s.actions = actionsOf[kind]
	}
	return w
}

// Sites is how many websites there are.
func (w *World) Sites() int { return len(w.sites) }

// SiteID is the id of a website.
func (w *World) SiteID(site int) string { return w.cfg.Sites[site].ID }

// Source returns a source of visits. Sources of different streams make different
// visits, by visitors some of whom are the same.
func (w *World) Source(stream uint64) *Source {
	return &Source{
		world: w, random: random(mix(w.cfg.Seed, stream, 1)), fresh: mix(w.cfg.Seed, stream, 2),
		ids: mix(w.cfg.Seed, w.cfg.Run, stream, 3), sessions: mix(w.cfg.Seed, w.cfg.Run, stream, 4),
	}
}

// Site returns the website of the next visit, by Zipf's law over their order.
func (s *Source) Site() int { return s.random.rank(len(s.world.sites)) }
