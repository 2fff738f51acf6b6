package millrace_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	millrace "github.com/millrace/millrace/sdk/go/v2"
)

// host stands for an ingestion host in the examples. It prints what it is sent.
func host() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			fmt.Println(err)
		}
		if strings.Contains(string(body), "foreign") {
			w.Header().Set("X-Request-Id", "req_1")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w,
				`{"success":false,"status":"error","error":"Access denied","code":"ACCESS_DENIED","retryable":false}`)
			return
		}
		fmt.Println(r.Method, r.URL.Path, string(body))
		io.WriteString(w, `{"status":"success"}`)
	}))
}

func Example() {
	server := host()
	defer server.Close()
	client, err := millrace.New("mlr_secret", millrace.WithAPIURL(server.URL), millrace.WithWebsiteID("web_1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(context.Background())

	// The id makes the event count once, even if this code runs twice for the order.
	r := client.Track(context.Background(), millrace.Event{
		Name: "order_paid", EventID: "order-1001-paid", ProfileID: "user-7",
		Timestamp: time.UnixMilli(1_700_000_000_000), Properties: map[string]any{"total": 12.5},
	})
	fmt.Println(r.Success, r.Delivery)
	fmt.Println(client.Flush(context.Background()).Processed)
	// Output:
	// true queued
	// POST /track [{"name":"order_paid","eventId":"order-1001-paid","timestamp":1700000000000,"profileId":"user-7","websiteId":"web_1","properties":{"total":12.5}}]
	// 1
}

func ExampleClient_Track_atOnce() {
	server := host()
	defer server.Close()
	client, err := millrace.New("mlr_secret", millrace.WithAPIURL(server.URL), millrace.WithBatching(false))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(context.Background())

	r := client.Track(context.Background(), millrace.Event{Name: "signup", WebsiteID: "foreign"})
	if err := r.Err(); err != nil {
		fmt.Println(err)
		fmt.Println(r.StatusCode, r.RequestID, r.Retryable)
		fmt.Println(r.Fix)
	}
	// Output:
	// millrace: ACCESS_DENIED: Access denied
	// 403 req_1 false
	// Use a key that covers the website.
}

func ExampleClient_Batch() {
	server := host()
	defer server.Close()
	client, err := millrace.New("mlr_secret", millrace.WithAPIURL(server.URL), millrace.WithSource("import"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(context.Background())

	at := time.UnixMilli(1_700_000_000_000)
	b := client.Batch(context.Background(), []millrace.Event{
		{Name: "a", EventID: "1", Timestamp: at},
		{Name: "b", EventID: "2", Timestamp: at, WebsiteID: "foreign"},
	})
	for _, r := range b.Results {
		fmt.Println(r.EventID, r.Success, r.Err())
	}
	// Output:
	// POST /track [{"name":"a","eventId":"1","timestamp":1700000000000,"source":"import"}]
	// 1 true <nil>
	// 2 false millrace: ACCESS_DENIED: Access denied
}

func ExampleClient_Identify() {
	server := host()
	defer server.Close()
	client, err := millrace.New("mlr_secret", millrace.WithAPIURL(server.URL), millrace.WithWebsiteID("web_1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(context.Background())

	r := client.Identify(context.Background(), millrace.Identity{
		ProfileID: "user-7", AnonymousID: "anon_4f9d", Traits: map[string]any{"plan": "pro"},
		EventID: "signin-7", Timestamp: time.UnixMilli(1700000000000),
	})
	fmt.Println(r.Delivery)
	// Output:
	// POST /identify {"profileId":"user-7","eventId":"signin-7","timestamp":1700000000000,"anonymousId":"anon_4f9d","websiteId":"web_1","traits":{"plan":"pro"}}
	// delivered
}

func ExampleWithMiddleware() {
	server := host()
	defer server.Close()
	client, err := millrace.New("mlr_secret", millrace.WithAPIURL(server.URL), millrace.WithMiddleware(
		func(_ context.Context, e *millrace.Event) bool {
			delete(e.Properties, "email")
			return e.Name != "health_check"
		},
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(context.Background())

	fmt.Println(client.Track(context.Background(), millrace.Event{Name: "health_check"}).Delivery)
	client.Track(context.Background(), millrace.Event{
		Name: "signup", EventID: "1", Timestamp: time.UnixMilli(1_700_000_000_000),
		Properties: map[string]any{"email": "a@example.com", "plan": "free"},
	})
	client.Flush(context.Background())
	// Output:
	// skipped
	// POST /track [{"name":"signup","eventId":"1","timestamp":1700000000000,"properties":{"plan":"free"}}]
}

func ExampleWithOnResult() {
	server := host()
	defer server.Close()
	client, err := millrace.New("mlr_secret", millrace.WithAPIURL(server.URL),
		millrace.WithOnResult(func(r millrace.Result) {
			if !r.Success {
				fmt.Fprintln(os.Stderr, "lost", r.EventID, r.Err())
			}
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	b := client.Close(context.Background())
	fmt.Println(b.Success, b.Failed)
	// Output: true 0
}
