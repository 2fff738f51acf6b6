// Package billing asks an external service whether an organization may send
// events. docs/guides/quotas.md says what is asked and what is to be answered.
//
// It promises that a response is one only when the service has said so in words: a
// redirect, an error, a page of a proxy in between or a word that is missing are
// none. The token goes to the configured address alone and into no error text.
package billing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/millrace/millrace/internal/platform/buildinfo"
)

// Config says which service is asked.
type Config struct {
	URL   string
	Token string // sent as a Bearer token; empty for none
	// Timeout bounds one question, connecting included.
	Timeout time.Duration
}

// Connections that are kept for the next question.
const (
	maxConns = 64
	maxIdle  = 90 * time.Second
	maxBody  = 64 << 10 // bytes of a response
)

// Client asks the service. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http *http.Client
}

// New returns a Client; it connects to nothing.
func New(cfg Config) *Client {
	return &Client{cfg: cfg, http: &http.Client{
		Timeout: cfg.Timeout,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: cfg.Timeout}).DialContext,
			TLSHandshakeTimeout: cfg.Timeout,
			ForceAttemptHTTP2:   true,
			MaxConnsPerHost:     maxConns,
			MaxIdleConnsPerHost: maxConns,
			IdleConnTimeout:     maxIdle,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

type question struct {
	OrganizationID string `json:"organizationId"`
}

type response struct {
	Allowed *bool `json:"allowed"`
}

var errNoWord = errors.New("the response must have a field allowed, true or false")

// Allowed implements quota.Biller.
func (c *Client) Allowed(ctx context.Context, organizationID string) (bool, error) {
	body, err := json.Marshal(question{organizationID})
	if err != nil {
		return false, fmt.Errorf("encoding a request to the billing service: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("creating a request to the billing service: billing.url cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "millrace/"+buildinfo.Version())
	if c.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false, fmt.Errorf("calling the billing service: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	return read(resp)
}

// read reads a response to its end, so that the connection can be used again.
func read(resp *http.Response) (bool, error) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return false, fmt.Errorf("reading the billing service's response: %w", withoutURL(err))
	}
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the billing service returned status %d", resp.StatusCode)
	}
	var a response
	if err := json.Unmarshal(text, &a); err != nil || a.Allowed == nil {
		return false, errNoWord
	}
	return *a.Allowed, nil
}

// withoutURL leaves the address out of an error: it may hold a secret.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
