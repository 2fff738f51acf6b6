package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// maxResponse is how much of a response is read; the rest is thrown away.
const maxResponse = 64 << 20

// HTTP returns a Sender with so many connections, which stay open, and what closes
// them.
func HTTP(connections int) (send Sender, closeAll func()) {
	transport := &http.Transport{
		MaxIdleConns: connections, MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true,
	}
	client := &http.Client{Transport: transport}
	return func(ctx context.Context, r *Request) (int, []byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(r.Body))
		if err != nil {
			return 0, nil, fmt.Errorf("creating a request: %w", err)
		}
		req.Header = r.Header
		response, err := client.Do(req)
		if err != nil {
			return 0, nil, fmt.Errorf("sending a request: %w", err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
		if err != nil {
			return 0, nil, fmt.Errorf("reading a response: %w", err)
		}
		return response.StatusCode, body, nil
	}, transport.CloseIdleConnections
}
