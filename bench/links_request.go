package main

import (
	"bytes"
	"fmt"
	"sync/atomic"
)

// slugDigits is how many digits follow the k of a slug; all have as many, so that all
// responses have the same length.
const slugDigits = 7

func slugOf(link int) string { return fmt.Sprintf("k%0*d", slugDigits, link) }

// targetOf is where a link leads.
func targetOf(link int) string { return "https://shop.example.com/products/" + slugOf(link) }

// visitorAgent is the user agent of who opens links.
const visitorAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 " +
	"Safari/537.36"

// visitorHeaders are those of a request, besides Host.
const visitorHeaders = "User-Agent: " + visitorAgent +
	"\r\nAccept: text/html\r\nAccept-Language: en-US,en;q=0.9\r\nReferer: https://news.example.com/today\r\n"

// requests is what one connection sends, one after another.
type requests struct {
	bytes []byte
	links int    // to be opened; 0 for events
	slug  []byte // its digits, within bytes
	state uint32
}

var connected atomic.Uint32

// requests makes those of a connection of its own; it starts at another link than others.
func (j job) requests() *requests {
	switch {
	case j.Flags != "":
		return &requests{bytes: flagRequest(j.Addr, j.Flags)}
	case j.Links == 0:
		return &requests{bytes: trackRequest(j.Addr, j.Batch)}
	}
	text := fmt.Appendf(nil, "GET /%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", slugOf(0), j.Addr, visitorHeaders)
	const at = len("GET /k")
	r := &requests{bytes: text, links: j.Links, slug: text[at : at+slugDigits], state: connected.Add(1) * 2_654_435_761}
	r.next()
	return r
}

// next picks another link. It must not be called while bytes are being sent.
func (r *requests) next() {
	if r.links == 0 {
		return
	}
	r.state = r.state*1_664_525 + 1_013_904_223
	n := uint64(r.state) * uint64(r.links) >> 32
	for i := slugDigits - 1; i >= 0; i-- {
		r.slug[i] = byte('0' + n%10)
		n /= 10
	}
}

// goodResponses are how those begin that are no rejections.
var goodResponses = [][]byte{[]byte("HTTP/1.1 200 "), []byte("HTTP/1.1 302 ")}

func goodResponse(response []byte) error {
	for _, good := range goodResponses {
		if bytes.HasPrefix(response, good) {
			return nil
		}
	}
	return fmt.Errorf("the server answers %q", response)
}
