package fault

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// reply is what a load hears to one request.
type reply struct {
	n          int // number of the request
	status     int
	retryAfter int           // seconds; -1 for none
	took       time.Duration // from the moment at which it was to be sent
	err        error
}

// load sends requests at fixed moments, whether earlier ones were answered or not,
// as far as its connections go: what is late counts from its moment.
type load struct {
	addr  string
	rate  int // requests a second; 0 sends the next one when one is answered
	wires int // connections
	// scattered has each of them from an address of its own.
	scattered bool
	// request makes the n-th request in a buffer that is used again.
	request func(buf []byte, n int) []byte
	// heard is called for each response, by several goroutines.
	heard func(reply)
}

// run sends for a time.
func (l *load) run(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	begin := time.Now()
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range l.wires {
		all.Go(func() {
			w := wire{addr: l.addr}
			if l.scattered {
				w.from = &net.TCPAddr{IP: net.IPv4(127, 2, byte(i/250), byte(1+i%250))}
			}
			defer w.close()
			due := time.NewTimer(time.Hour)
			defer due.Stop()
			for {
				n := int(next.Add(1) - 1)
				at := time.Now()
				if l.rate > 0 {
					at = begin.Add(time.Duration(n) * time.Second / time.Duration(l.rate))
					due.Reset(time.Until(at))
					select {
					case <-due.C:
					case <-ctx.Done():
						return
					}
				}
				if ctx.Err() != nil {
					return
				}
				w.buf = l.request(w.buf[:0], n)
				r := w.do()
				r.n, r.took = n, time.Since(at)
				l.heard(r)
			}
		})
	}
	all.Wait()
}

// wire is one connection of a load, which has one request under way at most. It
// costs much less than a client, so that it is not the load that is measured.
type wire struct {
	addr string
	from net.Addr // nil for any
	buf  []byte
	conn net.Conn
	in   *bufio.Reader
}

func (w *wire) close() {
	if w.conn != nil {
		w.conn.Close()
		w.conn = nil
	}
}

// do sends what is in buf.
func (w *wire) do() reply {
	if w.conn == nil {
		d := net.Dialer{Timeout: patience, LocalAddr: w.from}
		conn, err := d.Dial("tcp", w.addr)
		if err != nil {
			return reply{err: err}
		}
		w.conn, w.in = conn, bufio.NewReaderSize(conn, 1<<10)
	}
	w.conn.SetDeadline(time.Now().Add(patience))
	_, err := w.conn.Write(w.buf)
	r := reply{retryAfter: -1}
	if err == nil {
		var closes bool
		if r.status, closes, err = w.response(&r); closes {
			w.close()
		}
	}
	if r.err = err; err != nil {
		w.close()
	}
	return r
}

// response reads one response.
func (w *wire) response(r *reply) (status int, closes bool, err error) {
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, true, err
	}
	if len(line) < 12 {
		return 0, true, fmt.Errorf("answer begins %q", line)
	}
	status, err = strconv.Atoi(string(line[9:12]))
	length := 0
	for err == nil {
		if line, err = w.in.ReadSlice('\n'); len(line) <= 2 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch text := strings.TrimSpace(string(value)); strings.ToLower(string(name)) {
		case "content-length":
			length, err = strconv.Atoi(text)
		case "retry-after":
			r.retryAfter, err = strconv.Atoi(text)
		case "connection":
			closes = text == "close"
		}
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, w.in, int64(length))
	}
	return status, closes, err
}

// tally collects what a load heard.
type tally struct {
	mu        sync.Mutex
	byStatus  map[int]int
	silent    int // rejections that are to be repeated and do not say when
	errs      []error
	accepted  []int // numbers
	latencies []time.Duration
}

func newTally() *tally { return &tally{byStatus: map[int]int{}} }

func (t *tally) heard(r reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.err != nil {
		t.errs = append(t.errs, r.err)
		return
	}
	t.byStatus[r.status]++
	switch {
	case r.status == 200:
		t.accepted = append(t.accepted, r.n)
		t.latencies = append(t.latencies, r.took)
	case (r.status == 503 || r.status == 429) && r.retryAfter < 1:
		t.silent++
	}
}

// of returns how many answers had a status.
func (t *tally) of(status int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byStatus[status]
}

// quantile returns that of the accepted requests' latencies.
func (t *tally) quantile(q float64) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.latencies) == 0 {
		return 0
	}
	slices.Sort(t.latencies)
	return t.latencies[int(q*float64(len(t.latencies)-1))]
}

func (t *tally) String() string {
	return fmt.Sprintf("%v, p50 %s, p99 %s, %d errors",
		t.byStatus, t.quantile(0.5).Round(time.Microsecond), t.quantile(0.99).Round(time.Microsecond), len(t.errs))
}

// others returns answers besides those of the given statuses.
func (t *tally) others(statuses ...int) (n int) {
	for status, times := range t.byStatus {
		if !slices.Contains(statuses, status) {
			n += times
		}
	}
	return n
}

// peakBytes is the most memory that a process has occupied, or what it occupies
// now.
func peakBytes(pid int, now bool) (int64, error) {
	if now {
		return memoryBytes(pid, "VmRSS:")
	}
	return memoryBytes(pid, "VmHWM:")
}

// memoryBytes reads a line of what the system tells of a process.
func memoryBytes(pid int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("no memory is told")
}
