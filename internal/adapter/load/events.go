package load

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/pipeline/traffic"
)

// Events is a Work of events for an ingestion host.
type Events struct {
	// URL is the host's, such as http://127.0.0.1:8081.
	URL string
	// Key is an API key with the scope track:events; without one each website's id is
	// its client id, as in a browser.
	Key string
	// Requests are sent.
	Requests *traffic.Requests
}

// Unit implements Work.
func (*Events) Unit() string { return "events" }

// Next implements Work.
func (e *Events) Next() Request {
	next := e.Requests.Next(time.Now())
	header := http.Header{"Content-Type": {"application/json"}}
	if e.Key != "" {
		header.Set("X-Api-Key", e.Key)
	} else {
		header.Set("User-Agent", next.UserAgent)
	}
	return Request{
		URL:    strings.TrimSuffix(e.URL, "/") + string(next.Way) + "?website_id=" + url.QueryEscape(next.Website),
		Header: header, Body: next.Body, Units: next.Events,
	}
}

// Judge implements Work.
func (*Events) Judge(_ *Request, body []byte) Verdict {
	var response struct {
		Count   int            `json:"count"`
		Batched map[string]int `json:"batched"`
	}
	if json.Unmarshal(body, &response) != nil { // a response of 204 has no body: all were left out
		return Verdict{}
	}
	for _, n := range response.Batched {
		response.Count += n
	}
	return Verdict{Accepted: response.Count}
}
