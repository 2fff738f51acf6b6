package fault

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/testkit"
)

const (
	linkEdges = 2
	// linksVisited is how many links visitors open at random.
	linksVisited = 7
	// visitEvery is how often somebody opens one, whether others were answered or not.
	visitEvery = 5 * time.Millisecond
	// visitsAtOnce bounds those that wait for a response.
	visitsAtOnce = 64
)

// published is within what time a click is in the topic while brokers answer: a crash
// loses no older one.
var published = testkit.Promised(time.Second)

// visit is one request for a link.
type visit struct {
	edge            int
	asked, answered time.Time // answered is zero without a response
	status          int
}

// linkFront is a front whose visitors open links. Each comes from a site of its own, by which the
// row of its click is known.
type linkFront struct {
	*front

	client *http.Client
	edges  []*child
	kills  [][]time.Time // of each edge, the moment before

	mu     sync.Mutex
	visits map[string]*visit // by site
	sent   int               // of them, on to where the link leads
}

// newLinkFront starts edges that know the links link-0, link-1 and so on, and bounded,
// which only boundedMost may follow.
func (s *stage) newLinkFront() *linkFront {
	s.t.Helper()
	// On a connection that is kept the client would open a link again by itself, where
	// the edge is killed before it answers.
	transport := &http.Transport{DisableKeepAlives: true}
	v := &linkFront{
		front: s.newFront(linkEdges), kills: make([][]time.Time, linkEdges), visits: map[string]*visit{},
		client: &http.Client{
			Transport:     transport,
			Timeout:       patience,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	v.makeLinks()
	for i := range v.settings {
		v.settings[i].Link.Listen = testkit.FreeAddr(s.t)
		v.edges = append(v.edges, v.spawn(i))
	}
	return v
}

func (v *linkFront) makeLinks() {
	t := v.s.t
	t.Helper()
	db, err := store.Open(t.Context(), v.store, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	service := link.NewService(
		link.Rules{Schemes: []string{"https"}, PublicURL: "https://go.example", MaxLinks: 100},
		link.Deps{Store: db, Folders: db, Domains: db, Passwords: org.NewPasswords()},
	)
	fields := []link.Fields{{Slug: new("bounded"), MaxClicks: new(int64(boundedMost))}}
	for i := range linksVisited {
		fields = append(fields, link.Fields{Slug: new(fmt.Sprint("link-", i))})
	}
	for _, f := range fields {
		f.URL = new("https://target.example/" + *f.Slug)
		if _, err := service.Create(t.Context(), audit.BySystem(), v.fixture.OrganizationID, f); err != nil {
			t.Fatal(err)
		}
	}
}

// open has one visitor open a link on an edge.
func (v *linkFront) open(edge int, slug string) {
	v.mu.Lock()
	site := fmt.Sprintf("v%d.example", len(v.visits))
	of := &visit{edge: edge, asked: time.Now()}
	v.visits[site] = of
	v.mu.Unlock()
	status := v.ask("http://"+v.settings[edge].Link.Listen+"/"+slug, site)
	v.mu.Lock()
	defer v.mu.Unlock()
	of.status, of.answered = status, time.Now()
	if status == http.StatusFound {
		v.sent++
	}
}

// ask returns the status of the response, 0 for none.
func (v *linkFront) ask(url, site string) int {
	req, err := http.NewRequestWithContext(context.WithoutCancel(v.s.t.Context()), http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0
	}
	req.Header.Set("Referer", "https://"+site+"/")
	req.Header.Set("User-Agent",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36")
	resp, err := v.client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// stream has visitors open links all the time, until it is ended.
func (v *linkFront) stream() (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.s.t.Context()))
	var all sync.WaitGroup
	all.Go(func() {
		places := make(chan struct{}, visitsAtOnce)
		tick := time.NewTicker(visitEvery)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			<-tick.C
			places <- struct{}{}
			all.Go(func() {
				v.open(n%len(v.edges), fmt.Sprint("link-", n/len(v.edges)%linksVisited))
				<-places
			})
		}
	})
	return sync.OnceFunc(func() { cancel(); all.Wait() })
}

// more waits until so many more were sent on.
func (v *linkFront) more(n int) {
	v.s.t.Helper()
	before := v.followed()
	testkit.Eventually(v.s.t, patience, func() error {
		if now := v.followed(); now < before+n {
			return fmt.Errorf("%d visitors were sent on, want %d", now-before, n)
		}
		return nil
	})
}

func (v *linkFront) followed() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sent
}

// kill kills an edge and starts it again.
func (v *linkFront) kill(edge int) {
	v.s.t.Helper()
	v.kills[edge] = append(v.kills[edge], time.Now())
	v.edges[edge].cmd.Process.Kill()
	v.edges[edge].killed()
	v.edges[edge] = v.spawn(edge)
}

// excused reports whether the click of a visit may be lost: it was not yet acknowledged
// when the edge was killed.
func (v *linkFront) excused(of *visit) bool {
	for _, at := range v.kills[of.edge] {
		if !of.asked.After(at) && of.answered.After(at.Add(-published)) {
			return true
		}
	}
	return false
}
