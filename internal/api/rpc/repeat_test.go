package rpc_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/tenant/idempotency"
)

// memory keeps rows as the store does, which has a suite of its own.
type memory struct {
	mu   sync.Mutex
	rows map[string]idempotency.Row
}

func nameOf(r *idempotency.Row) string { return r.Caller + string(r.Key[:]) }

func (m *memory) ClaimCall(_ context.Context, r *idempotency.Row, _, _ time.Time) (*idempotency.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, ok := m.rows[nameOf(r)]; ok {
		return &before, nil
	}
	m.rows[nameOf(r)] = *r
	return nil, nil //nolint:nilnil // the interface says so
}

func (m *memory) FinishCall(_ context.Context, r *idempotency.Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[nameOf(r)] = *r
	return nil
}

func (m *memory) AbandonCall(_ context.Context, r *idempotency.Row, unchanged bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !unchanged || !r.Changed {
		delete(m.rows, nameOf(r))
	}
	return nil
}

func (*memory) ForgetCalls(context.Context, time.Time) error { return nil }

func TestACallWithAnIdempotencyKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	app := newApp(t)
	create := func(body, key, credential string) (int, string) {
		return call(t, app, "/rpc/things/create", body, "Idempotency-Key", key, "X-Api-Key", credential)
	}
	const made = `{"success":true,"data":{"id":"t_1","owner":"org_1","name":"x","at":null},"requestId":"req_1"}`
	for _, tc := range []struct {
		name, body, key, credential string
		status                      int
		contains                    string
	}{
		{"a fault of the caller", `{"name":""}`, "k", "good", 400, "VALIDATION_ERROR"},
		{"a conflict", `{"name":"taken"}`, "k", "good", 409, "The name is taken already"},
		{"one that was not made", `{"name":"away"}`, "n", "good", 503, "SERVICE_UNAVAILABLE"},
		{"the same once more", `{"name":"away"}`, "n", "good", 503, "SERVICE_UNAVAILABLE"},
		{"one that ends nobody knows how", `{"name":"broken"}`, "m", "good", 500, "INTERNAL"},
		{"it may have been made", `{"name":"broken"}`, "m", "good", 409, "still running"},
		{"the first good one", `{"name":"x"}`, "k", "good", 201, made},
		{"the same again", `{ "name" : "x" }`, "k", "good", 201, made},
		{"another body", `{"name":"y"}`, "k", "good", 422, "IDEMPOTENCY_MISMATCH"},
		{"another key", `{"name":"y"}`, "l", "good", 201, `"name":"y"`},
		{"a bad key", `{"name":"y"}`, strings.Repeat("k", 256), "good", 400, `"field":"Idempotency-Key"`},
		{"somebody who may not", `{"name":"x"}`, "k", "weak", 403, "FORBIDDEN"},
	} {
		if status, body := create(tc.body, tc.key, tc.credential); status != tc.status ||
			!strings.Contains(body, tc.contains) {
			t.Errorf("%s: %d %s\nwant %d %s", tc.name, status, body, tc.status, tc.contains)
		}
	}
	if status, body := call(t, app, "/rpc/things/list", `{}`, "Idempotency-Key", "k",
		"X-Api-Key", "good"); status != http.StatusOK {
		t.Errorf("an operation that changes nothing: %d %s", status, body)
	}
	status, body := call(t, app, "/rpc/things/enter", `{}`, "Idempotency-Key", "k")
	if status != http.StatusBadRequest || !strings.Contains(body, `"field":"Idempotency-Key"`) {
		t.Errorf("a change in nobody's name: %d %s", status, body)
	}
	if status, body := call(t, app, "/rpc/things/enter", `{}`); status != http.StatusOK {
		t.Errorf("the same without a key: %d %s", status, body)
	}
}
