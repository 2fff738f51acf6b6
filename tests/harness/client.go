package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
)

// Client is what tests send requests with. Its timeout is longer than any
// deadline of the product, so that running into it is a finding.
var Client = &http.Client{Timeout: 40 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func get(ctx context.Context, url string) (body string, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", 0, err
	}
	resp, err := Client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), resp.StatusCode, err
}

// Response is an HTTP response, read whole.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Post sends JSON with a key, which may be empty.
func Post(ctx context.Context, url, key string, body []byte) (Response, error) {
	return send(ctx, http.MethodPost, url, key, bytes.NewReader(body))
}

// Get asks with a key, which may be empty.
func Get(ctx context.Context, url, key string) (Response, error) {
	return send(ctx, http.MethodGet, url, key, http.NoBody)
}

func send(ctx context.Context, method, url, key string, body io.Reader) (Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return Response{}, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	resp, err := Client.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: b}, err
}

// Track posts events for the fixture's website with its global key.
func (s *System) Track(ctx context.Context, body []byte) (Response, error) {
	return Post(ctx, s.IngestURL+"/track?website_id="+s.WebsiteID, s.Key, body)
}

// MustTrack is Track that expects the events to be accepted.
func (s *System) MustTrack(tb testing.TB, body string) {
	tb.Helper()
	a, err := s.Track(tb.Context(), []byte(body))
	if err != nil {
		tb.Fatal(err)
	}
	if a.Status != http.StatusOK {
		tb.Fatalf("POST /track: %d %s, want 200", a.Status, a.Body)
	}
}

// TotalEvents asks the query host how many events the website has had in the
// last 7 days.
func (s *System) TotalEvents(ctx context.Context) (int, error) {
	a, err := Post(ctx, s.QueryURL+"/v1/query?website_id="+s.WebsiteID, s.Key,
		[]byte(`{"parameters":["summary_metrics"],"preset":"last_7d"}`))
	if err != nil {
		return 0, err
	}
	if a.Status != http.StatusOK {
		return 0, fmt.Errorf("POST /v1/query: %d %s", a.Status, a.Body)
	}
	var response struct {
		Data []struct {
			Success bool `json:"success"`
			Data    []struct {
				TotalEvents int `json:"total_events"`
			} `json:"data"`
		} `json:"data"`
	}
	if err := json.Unmarshal(a.Body, &response); err != nil {
		return 0, fmt.Errorf("reading %s: %w", a.Body, err)
	}
	if len(response.Data) != 1 || !response.Data[0].Success || len(response.Data[0].Data) != 1 {
		return 0, fmt.Errorf("unexpected answer %s", a.Body)
	}
	return response.Data[0].Data[0].TotalEvents, nil
}

// StoredIDs returns the eventId of every event of the website in ClickHouse,
// after its own removal of duplicates.
func (s *System) StoredIDs(ctx context.Context) ([]string, error) {
	return s.StoredIDsOf(ctx, s.WebsiteID)
}

// StoredIDsOf is StoredIDs for other owners, all of them together.
func (s *System) StoredIDsOf(ctx context.Context, owners ...string) ([]string, error) {
	conn, err := clickhouse.Dial(ctx, s.ClickHouse)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var ids []string
	var column proto.ColStr
	err = conn.Do(ctx, ch.Query{
		Body:       "SELECT event_id FROM events FINAL WHERE owner_id IN splitByChar(',', {owners:String})",
		Parameters: ch.Parameters(map[string]any{"owners": strings.Join(owners, ",")}),
		Result:     proto.Results{{Name: "event_id", Data: &column}},
		OnResult: func(context.Context, proto.Block) error {
			for i := range column.Rows() {
				ids = append(ids, column.Row(i))
			}
			return nil
		},
	})
	return ids, err
}

// Counts returns an error unless the query host counts exactly so many events.
func (s *System) Counts(ctx context.Context, want int) error {
	got, err := s.TotalEvents(ctx)
	if err == nil && got != want {
		err = fmt.Errorf("%d events are counted, want %d", got, want)
	}
	return err
}

// Stores returns an error unless ClickHouse holds events with these ids.
func (s *System) Stores(ctx context.Context, ids ...string) error {
	stored, err := s.StoredIDs(ctx)
	if err != nil {
		return err
	}
	have := make(map[string]bool, len(stored))
	for _, id := range stored {
		have[id] = true
	}
	missing := 0
	for _, id := range ids {
		if !have[id] {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d events are not stored", missing, len(ids))
	}
	return nil
}
