package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// event is what the events are called.
const event = "millrace_probe"

// maxResponse bounds what is read of a response.
const maxResponse = 64 << 10

var (
	errNotSeen      = errors.New("the event was accepted, but is not counted after " + giveUp.String())
	errUnauthorized = errors.New("the probe's key is rejected")
)

// dayRange is the days among which an event is counted.
type dayRange struct{ from, to string }

// around holds an event that is sent now, whatever is midnight meanwhile and
// however the clocks of the hosts differ.
func around(now time.Time) dayRange {
	now = now.UTC()
	return dayRange{now.AddDate(0, 0, -1).Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)}
}

// send hands an event to the edge, which answers when Kafka has it.
func (p *Probe) send(ctx context.Context, account Account) error {
	_, err := p.post(ctx, p.cfg.IngestURL+"/track", account, map[string]any{"name": event, "source": "probe"})
	if err != nil {
		return fmt.Errorf("sending an event: %w", err)
	}
	return nil
}

// count asks how many events there are.
func (p *Probe) count(ctx context.Context, account Account, days dayRange) (int, error) {
	body, err := p.post(ctx, p.cfg.QueryURL+"/v1/query", account, map[string]any{
		"parameters": []string{"custom_events"}, "startDate": days.from, "endDate": days.to, "timeZone": "UTC",
	})
	if err != nil {
		return 0, fmt.Errorf("querying events: %w", err)
	}
	var response struct {
		Data []struct {
			Success bool `json:"success"`
			Data    []struct {
				Name  string `json:"name"`
				Total int    `json:"total_events"`
			} `json:"data"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return 0, fmt.Errorf("reading the response of the query host: %w", err)
	}
	if len(response.Data) != 1 || !response.Data[0].Success {
		return 0, fmt.Errorf("the query host could not count: %s", body)
	}
	for _, row := range response.Data[0].Data {
		if row.Name == event {
			return row.Total, nil
		}
	}
	return 0, nil
}

// post sends a request of the account's and returns the body of a 200.
func (p *Probe) post(ctx context.Context, to string, account Account, body any) ([]byte, error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		to+"?website_id="+url.QueryEscape(account.WebsiteID), bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", account.Key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return got, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%w: %s", errUnauthorized, got)
	}
	return nil, fmt.Errorf("%s: %s", resp.Status, got)
}
