package traffic

import (
	"math"
	"time"

	"github.com/millrace/millrace/internal/contract/record"
)

// Event is one thing that a page or a website tells. It is what the ingestion host
// makes of it, with whom it came from.
type Event struct {
	record.Event

	// Topic is where it is published.
	Topic string
	// UserAgent is what the visitor's browser says.
	UserAgent string
	// Address is the page in full.
	Address []byte

	web record.Web
}

// Source makes one visit after the other. It is for one goroutine at a time.
type Source struct {
	world    *World
	random   random
	fresh    uint64 // of visitors who come for the first time
	ids      uint64 // of events
	sessions uint64
	visits   uint64
	count    uint64

	events []Event
	used   int
	text   []byte

	// The visit that is made.
	site    *site
	visitor visitor
	at      int64 // Unix milliseconds
}

// What visits are made of.
const (
	returning   = 0.42 // visits by somebody who may have come before
	known       = 0.08 // visitors whom the website knows
	bounces     = 0.45
	morePages   = 0.72 // that a visit of two pages or more goes on
	tellsExit   = 0.9
	tellsAction = 0.16
	leaves      = 0.03
	tellsVitals = 0.04
	tellsFault  = 0.01
	mostEvents  = 128 // of a visit
	mostLate    = 6 * time.Hour
	isLate      = 0.01
)

// visitor is who visits.
type visitor struct {
	*agentRow
	version       string
	place         *placeRow
	city          cityRow
	screen        string
	connection    string
	userAgent     string
	id, session   []byte
	profile       []byte
	rtt, downlink float64
	source        *sourceRow
	campaign      string
	click         []byte
	late          int64 // milliseconds from event to receipt
}

// Began returns a time of a day at which visits begin, with more of them by day
// than by night, where visitors are.
func (s *Source) Began(day time.Time) time.Time {
	hour := hours.pick(&s.random).hour - places.pick(&s.random).ahead
	hour = (hour + 24) % 24
	return day.Add(time.Duration(hour)*time.Hour +
		time.Duration(s.random.below(int(time.Hour/time.Millisecond)))*time.Millisecond)
}

// Visit makes a visit of a website, its events in the order of time. They are valid
// until the next. ReceivedAt is as much later as a browser needs to send, in one
// visit of a hundred hours later.
func (s *Source) Visit(of int, begin time.Time) []Event {
	s.site, s.used, s.text, s.at = &s.world.sites[of], 0, s.text[:0], begin.UnixMilli()
	if s.events == nil {
		s.events = make([]Event, mostEvents)
	}
	s.visits++
	s.meet(of)
	r := &s.random
	pages := 1
	if !r.chance(bounces) {
		for pages = 2; pages < s.visitor.pages && r.chance(morePages); pages++ {
		}
	}
	pages = min(pages, s.visitor.pages)
	var before *page
	for n := range pages {
		p := &s.site.pages[r.rank(len(s.site.pages))]
		s.page(p, before, n+1)
		before = p
	}
	return s.events[:s.used]
}

// meet finds out who comes.
func (s *Source) meet(of int) {
	r, v := &s.random, &s.visitor
	*v = visitor{}
	number, regular := s.fresh+s.visits, r.chance(returning)
	if regular {
		number = uint64(r.rank(s.site.regulars))
	}
	// What does not change from visit to visit is drawn from the visitor.
	own := random(mix(s.world.cfg.Seed, uint64(of), number))
	v.agentRow = agents.pick(&own)
	if r.chance(s.world.cfg.Bots) {
		v.agentRow = bots.pick(&own)
	}
	version := own.below(len(v.versions))
	v.version, v.userAgent = v.versions[version].short, v.agents[version]
	v.place = places.pick(&own)
	v.city = v.place.cities[own.rank(len(v.place.cities))]
	v.screen = v.screens[own.below(len(v.screens))]
	v.connection = v.connections[own.below(len(v.connections))]
	v.id = s.uuid("anon_", own.next())
	if regular && own.chance(known) {
		v.profile = s.number("user-", own.next()%1_000_000)
	}
	s.sessions++
	v.session = s.uuid("sess_", finish(s.sessions*golden))
	if v.connection != "" {
		v.rtt, v.downlink = 50*math.Round(r.around(2, 3)), math.Round(r.around(6, 3))
	}
	v.source = sources.pick(r)
	if v.source.medium != "" {
		v.campaign = campaigns[r.below(len(campaigns))]
	}
	if v.source.clickKind != "" {
		v.click = s.uuid("", r.next())
	}
	v.late = int64(r.between(20, 900))
	if r.chance(isLate) {
		v.late = int64(r.unit() * float64(mostLate.Milliseconds()))
	}
}

// page makes what one page of a visit tells.
func (s *Source) page(p, before *page, n int) {
	r, v := &s.random, &s.visitor
	phone := v.device == mobile
	view := s.event(record.TopicEvents, record.TypePageView, nameView, p)
	s.told(view, p, n)
	s.refer(view, before)
	load := r.around(1200, 4)
	for _, m := range [...]struct {
		number record.WebNumber
		part   float64
	}{{record.LoadTime, 1}, {record.DOMReady, 0.7}, {record.DOMInteractive, 0.5}, {record.TTFB, 0.2}} {
		view.web.Set(m.number, math.Round(load*m.part))
	}
	if v.bot == "" && r.chance(tellsVitals) {
		s.vitals(p, phone)
	}
	if r.chance(tellsFault) {
		s.fault(p)
	}
	stay := r.around(25, 12) // seconds
	if r.chance(tellsAction) {
		s.pass(stay / 2)
		a := &s.site.actions[r.rank(len(s.site.actions))]
		e := s.event(record.TopicEvents, record.TypeCustom, a.name, p)
		from := len(s.text)
		s.text = a.properties(s.text, r)
		e.Properties = s.since(from)
	}
	if r.chance(leaves) {
		link := &links[r.below(len(links))]
		e := s.event(record.TopicEvents, record.TypeOutgoingLink, nameLink, p)
		set(&e.web, record.Href, link.href)
		set(&e.web, record.LinkText, link.text)
	}
	s.pass(stay / 2)
	if r.chance(tellsExit) && v.bot == "" {
		exit := s.event(record.TopicEvents, record.TypePageExit, nameExit, p)
		s.told(exit, p, n)
		exit.web.Set(record.TimeOnPage, math.Round(stay))
		exit.web.Set(record.ScrollDepth, float64(r.between(5, 100)))
		exit.web.Set(record.Interactions, float64(r.below(1+v.interactions)))
	}
}

// told puts in what a tracker tells of a page.
func (s *Source) told(e *Event, p *page, n int) {
	v, w := &s.visitor, &e.web
	w.Texts[record.Title] = p.title
	set(w, record.Language, v.place.language)
	set(w, record.Timezone, v.place.timezone)
	set(w, record.Screen, v.screen)
	set(w, record.Viewport, v.screen)
	e.web.Set(record.PageCount, float64(n))
	if v.connection != "" {
		e.web.Set(record.RTT, v.rtt)
		e.web.Set(record.Downlink, v.downlink)
	}
}

// refer says where the visitor comes from: the first page of a visit from elsewhere,
// the others from the one before.
func (s *Source) refer(e *Event, before *page) {
	v, w, from := &s.visitor, &e.web, s.visitor.source
	set(w, record.UTMSource, from.source)
	set(w, record.UTMMedium, from.medium)
	set(w, record.UTMCampaign, v.campaign)
	t := &w.Texts
	if before != nil {
		at := len(s.text)
		s.text = append(append(s.text, s.site.origin...), before.path...)
		t[record.Referrer], t[record.ReferrerHost] = s.since(at), s.site.host
		t[record.ReferrerKind], t[record.ReferrerName] = kindInternal, s.site.host
		return
	}
	set(w, record.Referrer, from.url)
	set(w, record.ReferrerHost, from.host)
	set(w, record.ReferrerKind, from.kind)
	set(w, record.ReferrerName, from.name)
	set(w, record.ClickKind, from.clickKind)
	t[record.ClickID] = v.click
}

func (s *Source) vitals(p *page, phone bool) {
	for i := range metrics {
		m := &metrics[i]
		e := s.event(record.TopicVitals, record.TypeVital, bytesOf(m.name), p)
		value := s.random.around(m.middle, m.spread)
		if phone {
			value *= m.phone
		}
		e.web.Set(record.Value, math.Round(value*1000)/1000)
	}
}

func (s *Source) fault(p *page) {
	f := faults.pick(&s.random)
	e := s.event(record.TopicErrors, record.TypeError, bytesOf(f.name), p)
	from := len(s.text)
	s.text = append(append(s.text, s.site.origin...), "/assets/app.js"...)
	t := &e.web.Texts
	t[record.Message], t[record.Filename] = bytesOf(f.message), s.since(from)
	from = len(s.text)
	s.text = append(append(append(append(s.text, f.name...), ": "...), f.message...),
		"\n    at render (app.js:17:9)\n    at main (app.js:240:3)"...)
	t[record.Stack] = s.since(from)
	e.web.Set(record.Line, float64(f.line))
	e.web.Set(record.Column, float64(f.column))
}

// event begins the next event of the visit, of which one that is too much is
// written over by the next.
func (s *Source) event(topic, kind string, name []byte, p *page) *Event {
	e := &s.events[s.used]
	s.used = min(s.used+1, mostEvents-1)
	v := &s.visitor
	s.count++
	e.web = record.Web{}
	e.Event = record.Event{
		Version: record.EventVersion, ID: s.uuid("", finish((s.ids+s.count)*golden)),
		Organization: s.site.organization, Website: s.site.id, Owner: s.site.id,
		Type: bytesOf(kind), Name: name, TimeMillis: s.at, ReceivedAt: s.at + v.late,
		AnonymousID: v.id, SessionID: v.session, ProfileID: v.profile, Path: p.path, Web: &e.web,
	}
	from := len(s.text)
	s.text = append(append(s.text, s.site.origin...), p.path...)
	e.Topic, e.UserAgent, e.Address = topic, v.userAgent, s.since(from)
	w := &e.web
	w.Texts[record.Host] = s.site.host
	set(w, record.Browser, v.browser)
	set(w, record.BrowserVersion, v.version)
	set(w, record.OS, v.os)
	set(w, record.OSVersion, v.osVersion)
	set(w, record.Device, v.device)
	set(w, record.Country, v.place.country)
	set(w, record.Region, v.city.region)
	set(w, record.City, v.city.city)
	set(w, record.Bot, v.bot)
	set(w, record.BotKind, v.botKind)
	set(w, record.Connection, v.connection)
	return e
}

// pass lets seconds go by.
func (s *Source) pass(seconds float64) { s.at += int64(seconds * 1000) }
