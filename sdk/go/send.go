package millrace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBodyBytes bounds the body of a request. The host takes 2 MB, which some count
// in thousands.
const maxBodyBytes = 2_000_000

// host is the ingestion host.
type host struct {
	client    *http.Client
	url       string
	authorize func(http.Header) // a function, so that no print of the client shows the key
	timeout   time.Duration
}

// post sends one request.
func (h *host) post(ctx context.Context, path string, body []byte) response {
	timed, cancel := context.WithTimeoutCause(ctx, h.timeout, errTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(timed, http.MethodPost, h.url+path, bytes.NewReader(body))
	if err != nil { // the address was checked
		return response{Result: rejected(CodeNetwork, err.Error())}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	h.authorize(req.Header)
	resp, err := h.client.Do(req)
	if err != nil {
		return response{Result: failure(ctx, timed, err)}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes))
	if err != nil {
		return response{Result: failure(ctx, timed, err)}
	}
	return readResponse(resp.StatusCode, resp.Header, text, time.Now())
}

// failure tells whether the caller gave up or the network failed.
func failure(ctx, timed context.Context, err error) Result {
	switch {
	case ctx.Err() != nil:
		return canceled(context.Cause(ctx))
	case errors.Is(context.Cause(timed), errTimeout):
		return unreachable(errTimeout)
	}
	return unreachable(err)
}

// item is an event that is ready to be sent.
type item struct {
	identity
	body []byte
	at   time.Time // since when it waits

	// Of the queue:
	number uint64      // in the order of arrival
	done   chan Result // takes one; nil unless somebody waits
	last   Result      // of the last send
}

// dispatch sends items once, in as few requests as they fit in.
type dispatch struct {
	host    *host
	items   []*item
	alone   bool // a single event goes as an object, not as an array
	results []Result
	stopped *Result // once a request has failed in a way that may pass
}

// send sends items and returns a result for each. Whatever the host rejects for
// good is told apart from the rest, which is sent again without it; after a failure
// that may pass nothing more is sent.
func (h *host) send(ctx context.Context, items []*item, alone bool) []Result {
	d := dispatch{host: h, items: items, alone: alone, results: make([]Result, len(items))}
	all := make([]int, len(items))
	for i := range all {
		all[i] = i
	}
	d.send(ctx, all)
	return d.results
}

// send sends the items at some positions, in pieces that the host takes.
func (d *dispatch) send(ctx context.Context, at []int) {
	for len(at) > 0 {
		n, size := 0, 2
		for n < len(at) && n < MaxBatchSize && (n == 0 || size+len(d.items[at[n]].body) < maxBodyBytes) {
			size += len(d.items[at[n]].body) + 1
			n++
		}
		d.request(ctx, at[:n], size)
		at = at[n:]
	}
}

func (d *dispatch) request(ctx context.Context, at []int, size int) {
	if d.stopped != nil {
		d.settle(at, *d.stopped)
		return
	}
	a := d.host.post(ctx, "/track", d.body(at, size))
	switch {
	case a.Success:
		d.settle(at, a.Result)
	case a.Retryable:
		d.stopped = &a.Result
		d.settle(at, a.Result)
	default:
		for _, part := range d.split(at, &a) {
			d.send(ctx, part)
		}
	}
}

func (d *dispatch) body(at []int, size int) []byte {
	if d.alone && len(d.items) == 1 {
		return d.items[0].body
	}
	body := append(make([]byte, 0, size), '[')
	for i, p := range at {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, d.items[p].body...)
	}
	return append(body, ']')
}

func (d *dispatch) settle(at []int, r Result) {
	for _, p := range at {
		d.results[p] = r.of(d.items[p].id)
	}
}

// split settles the events that a rejection is about, and returns the others in the
// parts in which they are sent again: without those that are named; else, when some
// website may be the reason, each website by itself; else, when it may be the size
// or one event that is not named, in halves. Each part is smaller than the whole, so
// this ends.
func (d *dispatch) split(at []int, a *response) [][]int {
	rest := make([]int, 0, len(at))
	for i, p := range at {
		if text, named := a.named[i]; named {
			r := a.Result
			if text != "" {
				r.Error += ": " + text
			}
			d.settle([]int{p}, r)
		} else {
			rest = append(rest, p)
		}
	}
	if len(rest) < len(at) {
		return [][]int{rest}
	}
	if parts := d.byWebsite(at); len(parts) > 1 && aboutWebsite(a) {
		return parts
	}
	if len(at) > 1 && (a.StatusCode == http.StatusRequestEntityTooLarge || a.Code == CodeValidation) {
		return [][]int{at[:len(at)/2], at[len(at)/2:]}
	}
	d.settle(at, a.Result)
	return nil
}

// byWebsite returns positions grouped by website, in the order of their first.
func (d *dispatch) byWebsite(at []int) [][]int {
	var parts [][]int
	index := map[string]int{}
	for _, p := range at {
		i, ok := index[d.items[p].website]
		if !ok {
			i = len(parts)
			index[d.items[p].website] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], p)
	}
	return parts
}

// aboutWebsite reports whether another website may be answered differently.
func aboutWebsite(a *response) bool {
	switch a.StatusCode {
	case http.StatusForbidden:
		return a.Code != "FORBIDDEN" // which is about the key
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest:
		return strings.Contains(a.Code, "WEBSITE")
	}
	return false
}
