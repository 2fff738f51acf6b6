package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// patience is how long something may take on a busy machine.
const patience = 2 * time.Minute

// client sends events all the time and expects each of them to be accepted.
type client struct {
	t     *testing.T
	sent  int // batches
	acked atomic.Int64
	end   func()
}

// batch is how many events are sent together.
const batch = 3

func newClient(t *testing.T) *client {
	t.Helper()
	c := &client{t: t, end: func() {}}
	t.Cleanup(func() { c.end() })
	return c
}

// send begins to send to these systems in turn, and no longer to others.
func (c *client) send(to ...*harness.System) {
	c.t.Helper()
	c.end()
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	var sending sync.WaitGroup
	sending.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := c.sendTo(to[c.sent%len(to)]); err != nil {
				c.t.Error(err)
				return
			}
			<-tick.C
		}
	})
	c.end = sync.OnceFunc(func() { cancel(); sending.Wait() })
}

func (c *client) sendTo(s *harness.System) error {
	var events [batch]string
	for i := range events {
		events[i] = fmt.Sprintf(`{"name":"used","eventId":"used-%d-%d"}`, c.sent, i)
	}
	c.sent++
	a, err := s.Track(context.WithoutCancel(c.t.Context()), []byte("["+strings.Join(events[:], ",")+"]"))
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("batch %d: %d %s, want 200", c.sent, a.Status, a.Body)
	}
	if err == nil {
		c.acked.Add(batch)
	}
	return err
}

// gets waits until so many more batches were accepted, of which the first was sent
// before.
func (c *client) gets(batches int64) {
	c.t.Helper()
	want := c.acked.Load() + (batches+1)*batch
	testkit.Eventually(c.t, patience, func() error {
		if got := c.acked.Load(); got < want {
			return fmt.Errorf("%d events are accepted, want %d", got, want)
		}
		return nil
	})
}

// pause ends the sending and expects each of the systems to count every event that
// was accepted, and ClickHouse to hold each of them once.
func (c *client) pause(systems ...*harness.System) {
	c.t.Helper()
	c.end()
	for _, s := range systems {
		testkit.Eventually(c.t, patience, func() error { return s.Counts(c.t.Context(), int(c.acked.Load())) })
	}
	stored := query(c.t, systems[0].ClickHouse,
		"SELECT toString(count()) FROM events WHERE owner_id = '"+systems[0].WebsiteID+"'")
	if want := strconv.FormatInt(c.acked.Load(), 10); len(stored) != 1 || stored[0] != want {
		c.t.Errorf("events are stored %s times, want %s", stored, want)
	}
}

// usesANewWebsite makes a website through a system and sends it an event: what the
// edge did not know has to be looked up.
func usesANewWebsite(t *testing.T, s *harness.System) {
	t.Helper()
	domain := fmt.Sprintf("shop-%d.example", time.Now().UnixNano())
	a, err := harness.Post(t.Context(), s.QueryURL+"/rpc/websites/create", s.Key,
		[]byte(`{"name":"Shop","domain":"`+domain+`"}`))
	var made struct {
		Data struct{ ID string } `json:"data"`
	}
	if err = errors.Join(err, json.Unmarshal(a.Body, &made)); err != nil || made.Data.ID == "" {
		t.Errorf("a website is not made: %d %s, %v", a.Status, a.Body, err)
		return
	}
	a, err = harness.Post(t.Context(), s.IngestURL+"/track?website_id="+made.Data.ID, s.Key,
		[]byte(`{"name":"first","eventId":"first"}`))
	if err != nil || a.Status != http.StatusOK {
		t.Errorf("the first event of a new website: %d %s, %v", a.Status, a.Body, err)
		return
	}
	testkit.Eventually(t, patience, func() error {
		stored, err := s.StoredIDsOf(t.Context(), made.Data.ID)
		if err == nil && len(stored) != 1 {
			err = fmt.Errorf("%d events of the new website are stored, want 1", len(stored))
		}
		return err
	})
}
