package ingestapi

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Service is something that the host depends on.
type Service struct {
	Name string
	// Check returns why the service cannot be asked now; nil when it can.
	Check func(ctx context.Context) error
}

const (
	// statusFor is how long a response of GET /health/status serves: callers cost the
	// services nothing, however many they are.
	statusFor = time.Second
	// statusTimeout bounds one look.
	statusTimeout = 2 * time.Second
)

// status says how the services are.
type status struct {
	services []Service

	looking chan struct{} // full while somebody looks, so that one look serves all who wait
	at      time.Time
	ok      bool
	body    []byte
}

func newStatus(services []Service) *status {
	return &status{services: services, looking: make(chan struct{}, 1)}
}

type statusResponse struct {
	Status   string                     `json:"status"` // ok, or degraded
	Services map[string]serviceResponse `json:"services"`
}

type serviceResponse struct {
	Status  string  `json:"status"` // ok, or error
	Latency float64 `json:"latency_ms"`
	Code    string  `json:"code,omitempty"` // why, of one with an error
}

// health serves GET /health.
func (*handlers) health(c *fiber.Ctx) error { return respond(c, []byte(`{"status":"ok"}`)) }

// healthStatus serves GET /health/status. What is wrong with a service is for the log: the
// response is anybody's to read.
func (h *handlers) healthStatus(c *fiber.Ctx) error {
	ok, body, err := h.status.look()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	if !ok {
		c.Context().SetStatusCode(fiber.StatusServiceUnavailable)
	}
	return respond(c, body)
}

// look returns what was found at most statusFor ago.
func (s *status) look() (ok bool, body []byte, err error) {
	s.looking <- struct{}{}
	defer func() { <-s.looking }()
	if s.body != nil && time.Since(s.at) < statusFor {
		return s.ok, s.body, nil
	}
	// Not the caller's own context: the others must not depend on whether it waits.
	ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
	defer cancel()
	found := make([]serviceResponse, len(s.services))
	var wg sync.WaitGroup
	for i, service := range s.services {
		wg.Go(func() { found[i] = service.look(ctx) })
	}
	wg.Wait()
	a := statusResponse{Status: "ok", Services: make(map[string]serviceResponse, len(found))}
	for i, f := range found {
		if a.Services[s.services[i].Name] = f; f.Code != "" {
			a.Status = "degraded"
		}
	}
	if s.body, err = json.Marshal(a); err != nil {
		return false, nil, fmt.Errorf("writing the status: %w", err)
	}
	s.ok, s.at = a.Status == "ok", time.Now()
	return s.ok, s.body, nil
}

func (s *Service) look(ctx context.Context) serviceResponse {
	from := time.Now()
	err := s.Check(ctx)
	a := serviceResponse{
		Status: "ok", Latency: float64(time.Since(from).Microseconds()) / float64(time.Millisecond/time.Microsecond),
	}
	switch {
	case err != nil && ctx.Err() != nil:
		a.Status, a.Code = "error", "TIMEOUT"
	case err != nil:
		a.Status, a.Code = "error", "UNAVAILABLE"
	}
	return a
}
