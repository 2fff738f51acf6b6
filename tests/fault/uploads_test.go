package fault

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/app/query"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// uploads are requests whose bodies come byte by byte, over as many connections from as
// many addresses of the loopback network.
type uploads struct {
	to        string
	path      string
	addresses int
	wires     int

	open   atomic.Int64 // connections
	begun  atomic.Int64 // requests
	cutOff atomic.Int64 // connections that were closed in our face
}

const (
	// uploadsBound is what a query host may occupy with all its 4,096 connections at an
	// upload: 84 KiB each for the header, what is read ahead, the first of the body and
	// the stacks, beside some 85 MB.
	uploadsBound = 512 << 20
	// late is how many in a hundred of the others' requests may be rejected, with the time
	// to come again: room is made for one connection in 2 ms, whoever comes first.
	late = 5
)

// slowly is the pause between two bytes, and before a connection is tried again.
const slowly = time.Second

// run uploads until ctx ends.
func (u *uploads) run(ctx context.Context) {
	var all sync.WaitGroup
	for i := range u.wires {
		n := i % u.addresses
		from := &net.TCPAddr{IP: net.IPv4(127, 1, byte(n/250), byte(1+n%250))}
		all.Go(func() {
			for ctx.Err() == nil {
				u.upload(ctx, &net.Dialer{LocalAddr: from})
				pause(ctx)
			}
		})
	}
	all.Wait()
}

// pause waits for the next byte's turn.
func pause(ctx context.Context) {
	due := time.NewTimer(slowly)
	defer due.Stop()
	select {
	case <-due.C:
	case <-ctx.Done():
	}
}

// upload begins a request and goes on with it until it is ended.
func (u *uploads) upload(ctx context.Context, d *net.Dialer) {
	conn, err := d.DialContext(ctx, "tcp", u.to)
	if err != nil {
		return
	}
	u.open.Add(1)
	defer func() {
		u.open.Add(-1)
		conn.Close()
	}()
	// So much comes at once that the host has begun to read the body by itself.
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n%s",
		u.path, strings.Repeat(" ", 9<<10))
	for u.begun.Add(1); err == nil && ctx.Err() == nil; _, err = io.WriteString(conn, "1") {
		pause(ctx)
	}
	if ctx.Err() == nil {
		u.cutOff.Add(1)
	}
}

// Thousands of uploads that never end, from one address and from hundreds of them, leave
// the requests of others answered, and the memory of the host what it is.
func TestUploadsThatNeverEndLeaveTheOthersAnswered(t *testing.T) {
	few := 0 // it is about thousands of connections, and fewer prove nothing
	if exacting() {
		few = 1
	}
	tr := trial{
		fault: "F21 slow uploads", point: "5,000 connections, at the edge", on: kfakeOnly, few: few, alone: true, once: true,
	}
	tr.body = func(_ *testing.T, s *stage) {
		x := s.newTarget(nil)
		x.warm(x.request(x.fixture.SecondWebsiteID, "v"))
		x.besideUploads("/track", func(prefix string) func([]byte, int) []byte {
			return x.request(x.fixture.SecondWebsiteID, prefix)
		})
	}
	tr.run(t)
	tr.point = "5,000 connections, at the query host"
	tr.body = func(_ *testing.T, s *stage) {
		x := s.newQueryTarget()
		ask := "GET /v1/query/websites HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + x.fixture.Key + "\r\n\r\n"
		others := func(string) func([]byte, int) []byte {
			return func(buf []byte, _ int) []byte { return append(buf, ask...) }
		}
		x.besideUploads("/v1/query", others)
	}
	tr.run(t)
}

// newQueryTarget is newTarget of a query host.
func (s *stage) newQueryTarget() *target { return s.newQueryTargetOf(0) }

// newQueryTargetOf is newQueryTarget with a GOMEMLIMIT; 0 for none.
func (s *stage) newQueryTargetOf(memoryLimit int64) *target {
	s.t.Helper()
	f := s.newFront(1)
	e := &f.settings[0]
	e.Admin.Listen, e.Log.Level, e.Query.Listen = testkit.FreeAddr(s.t), "warn", testkit.FreeAddr(s.t)
	e.Store.URL = config.Secret(f.store)
	c := s.spawn(order{Role: query.Component, Settings: *e, StoreURL: f.store, MemoryLimit: memoryLimit})
	c.heard("ready")
	return &target{front: f, child: c, at: e.Query.Listen, admin: e.Admin.Listen, bound: uploadsBound}
}

// scattered is steady for callers of whom each has an address of their own.
func (x *target) scattered(d time.Duration, request func([]byte, int) []byte) *tally {
	x.s.t.Helper()
	heard := newTally()
	l := load{addr: x.addr(), rate: 300, wires: 16, scattered: true, request: request, heard: heard.heard}
	l.run(x.s.t.Context(), d)
	return heard
}

// besideUploads asks for what others are answered without uploads, beside those from one
// address, and beside those from many.
func (x *target) besideUploads(path string, others func(prefix string) func([]byte, int) []byte) {
	t := x.s.t
	t.Helper()
	const wires, lasts = 5000, 20 * time.Second
	base := x.scattered(lasts/2, others("b"))
	before, _ := peakBytes(x.cmd.Process.Pid, true)
	t.Logf("without uploads: %s; %d MB", base, before>>20)
	for _, addresses := range []int{1, 500} {
		u := &uploads{to: x.addr(), path: path, addresses: addresses, wires: wires}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { u.run(ctx) })
		testkit.Eventually(t, patience, func() error {
			if n := u.begun.Load(); n < int64(wires) {
				return fmt.Errorf("%d uploads have begun", n)
			}
			return nil
		})
		during := x.scattered(lasts, others(fmt.Sprint("u", addresses)))
		now, _ := peakBytes(x.cmd.Process.Pid, true)
		t.Logf("%d uploads from %d addresses: others %s; %d open, %d begun, %d cut off; %d MB",
			wires, addresses, during, u.open.Load(), u.begun.Load(), u.cutOff.Load(), now>>20)
		stop()
		all.Wait()
		rejected := during.byStatus[503]
		if during.others(200, 503) > 0 || len(during.errs) > 0 || during.silent > 0 ||
			100*rejected > late*during.byStatus[200] {
			t.Errorf("beside uploads from %d addresses the others were answered %s: %v",
				addresses, during, first(texts(during.errs), 3))
		}
		x.s.took = max(x.s.took, during.quantile(0.99))
		x.s.verdict.Acked += len(during.accepted)
	}
	x.s.verdict.partly = true
	x.bounded()
	x.stop()
}
