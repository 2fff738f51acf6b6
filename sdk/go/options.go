package millrace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Defaults and bounds of the options.
const (
	// DefaultAPIURL is where a Millrace on the same machine takes events.
	DefaultAPIURL = "http://127.0.0.1:8081"
	// DefaultBatchSize is how many queued events are sent in one request.
	DefaultBatchSize = 10
	// MaxBatchSize is the most that one request carries, and one call of Batch.
	MaxBatchSize = 100
	// DefaultBatchTimeout is how long an event waits for others.
	DefaultBatchTimeout = 2 * time.Second
	// DefaultMaxQueueSize is how many events may be waiting or being sent.
	DefaultMaxQueueSize = 1000
	// DefaultMaxDeduplicationCacheSize is how many ids of delivered events are
	// remembered.
	DefaultMaxDeduplicationCacheSize = 10_000
	// DefaultRequestTimeout is the longest that one request may take.
	DefaultRequestTimeout = 10 * time.Second
	// DefaultRetries is how often a call that sends at once tries again.
	DefaultRetries = 2
)

// Middleware sees every event before it is queued or sent, with all defaults and
// global properties filled in. It may change the event, whose Properties are the
// middleware's own to change, though not the values in them; when it returns false
// the event is dropped. It runs in the goroutine that tracks the event, in the order
// in which middleware was added, and must be safe for concurrent use.
type Middleware func(ctx context.Context, e *Event) (keep bool)

// Option sets one option of a Client.
type Option func(*options)

// options are the settings of a client.
type options struct {
	apiURL                       string
	websiteID, namespace, source string
	debug                        bool
	logger                       *slog.Logger
	batching                     bool
	batchSize                    int
	batchTimeout                 time.Duration
	maxQueueSize                 int
	deduplication                bool
	maxDeduplicationCacheSize    int
	requestTimeout               time.Duration
	retries                      int
	middleware                   []Middleware
	onResult                     func(Result)
	httpClient                   *http.Client
}

func defaults() options {
	return options{
		apiURL:                    DefaultAPIURL,
		batching:                  true,
		batchSize:                 DefaultBatchSize,
		batchTimeout:              DefaultBatchTimeout,
		maxQueueSize:              DefaultMaxQueueSize,
		deduplication:             true,
		maxDeduplicationCacheSize: DefaultMaxDeduplicationCacheSize,
		requestTimeout:            DefaultRequestTimeout,
		retries:                   DefaultRetries,
	}
}

// WithAPIURL sets the address of the ingestion host, such as
// https://events.example.com. The default is DefaultAPIURL.
func WithAPIURL(address string) Option { return func(o *options) { o.apiURL = address } }

// WithWebsiteID sets the website of events and identities that name none. Without
// one they belong to the website that the key is limited to, else to the
// organization.
func WithWebsiteID(id string) Option { return func(o *options) { o.websiteID = id } }

// WithNamespace sets the namespace of events that name none.
func WithNamespace(namespace string) Option { return func(o *options) { o.namespace = namespace } }

// WithSource sets the source of events that name none.
func WithSource(source string) Option { return func(o *options) { o.source = source } }

// WithDebug logs every step at the level debug. Without a logger of its own the
// client then writes to standard error. The default is off.
func WithDebug(on bool) Option { return func(o *options) { o.debug = on } }

// WithLogger sets where the client logs: warnings about sends that are tried again,
// errors about events that are lost, and with WithDebug every step. Keys, events and
// properties are never logged. The default is slog.Default.
func WithLogger(logger *slog.Logger) Option { return func(o *options) { o.logger = logger } }

// WithBatching says whether Track queues events and sends them together. Without
// batching every Track is a request of its own. The default is on.
func WithBatching(on bool) Option { return func(o *options) { o.batching = on } }

// WithBatchSize sets how many events are sent together. What is more than
// MaxBatchSize becomes MaxBatchSize, and 0 becomes 1. The default is
// DefaultBatchSize.
func WithBatchSize(events int) Option { return func(o *options) { o.batchSize = events } }

// WithBatchTimeout sets how long a queued event waits for others before what there
// is, is sent. It is also the first pause after a send that failed, though at least
// 250 ms. The default is DefaultBatchTimeout.
func WithBatchTimeout(d time.Duration) Option { return func(o *options) { o.batchTimeout = d } }

// WithMaxQueueSize bounds how many events may be queued or being sent, at least 1.
// Beyond it Track answers QUEUE_FULL. The default is DefaultMaxQueueSize.
func WithMaxQueueSize(events int) Option { return func(o *options) { o.maxQueueSize = events } }

// WithDeduplication says whether an event is dropped when one of the same website
// with the same EventID is queued or was delivered. The host does so in any case.
// The default is on.
func WithDeduplication(on bool) Option { return func(o *options) { o.deduplication = on } }

// WithMaxDeduplicationCacheSize bounds how many ids of delivered events are
// remembered; the oldest are forgotten first. The default is
// DefaultMaxDeduplicationCacheSize.
func WithMaxDeduplicationCacheSize(ids int) Option {
	return func(o *options) { o.maxDeduplicationCacheSize = ids }
}

// WithRequestTimeout sets the longest that one request may take, its response
// included. The default is DefaultRequestTimeout.
func WithRequestTimeout(d time.Duration) Option { return func(o *options) { o.requestTimeout = d } }

// WithRetries sets how often Batch, Identify, Flush, and Track without batching try
// again what may succeed later, before they return; 0 is never. Events in the queue
// are tried again without an end. The default is DefaultRetries.
func WithRetries(times int) Option { return func(o *options) { o.retries = times } }

// WithMiddleware adds middleware.
func WithMiddleware(m ...Middleware) Option {
	return func(o *options) { o.middleware = append(o.middleware, m...) }
}

// WithOnResult sets a function that is told what finally became of each event that
// was queued: once for each, whether it was delivered or rejected for good. It is
// called by the goroutines that send, of which there may be several, and should
// return soon. When Close returns it has been told of every event. It may call the
// client's methods, except Close, which would wait for itself.
func WithOnResult(f func(Result)) Option { return func(o *options) { o.onResult = f } }

// WithHTTPClient sets what requests are sent with, for a proxy or certificates of
// one's own. It is not closed by Close. Redirects are not followed unless it has a
// CheckRedirect: what is posted would be lost on the way.
func WithHTTPClient(client *http.Client) Option { return func(o *options) { o.httpClient = client } }

// ErrAPIKey is in the error of New when the key is missing, blank, or holds what no
// header may.
var ErrAPIKey = errors.New("an API key is required, printable and not blank")

// check brings the options into their bounds and reports those that have no
// meaning, all at once.
func (o *options) check() error {
	o.batchSize = min(o.batchSize, MaxBatchSize)
	var errs []error
	for _, n := range []struct {
		name       string
		got, least int
	}{
		{"batch size", o.batchSize, 0},
		{"maximal queue size", o.maxQueueSize, 1},
		{"maximal deduplication cache size", o.maxDeduplicationCacheSize, 0},
		{"retries", o.retries, 0},
	} {
		if n.got < n.least {
			errs = append(errs, fmt.Errorf("%s: %d is less than %d", n.name, n.got, n.least))
		}
	}
	o.batchSize = max(o.batchSize, 1)
	for _, f := range []field{
		{"website ID", o.websiteID, 0, MaxWebsiteIDLen},
		{"namespace", o.namespace, 0, MaxNamespaceLen},
		{"source", o.source, 0, MaxSourceLen},
	} {
		if wrong := f.check(); wrong != "" {
			errs = append(errs, errors.New(wrong))
		}
	}
	if o.batchTimeout < 0 {
		errs = append(errs, fmt.Errorf("batch timeout: %s is negative", o.batchTimeout))
	}
	if o.requestTimeout <= 0 {
		errs = append(errs, fmt.Errorf("request timeout: %s is not positive", o.requestTimeout))
	}
	for _, m := range o.middleware {
		if m == nil {
			errs = append(errs, errors.New("middleware: nil"))
		}
	}
	address, err := hostURL(o.apiURL)
	o.apiURL = address
	return errors.Join(append(errs, err)...)
}

// hostURL returns an address without a slash at its end. It must be one to which a
// path can be added.
func hostURL(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", fmt.Errorf("API URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("API URL: %s is not of the form https://host", u.Redacted())
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// checkKey returns an API key without the space around it.
func checkKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	if key == "" {
		return "", ErrAPIKey
	}
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return "", ErrAPIKey
		}
	}
	return key, nil
}

// log returns where the client logs.
func (o *options) log() *slog.Logger {
	switch {
	case o.logger != nil:
		return o.logger
	case o.debug:
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.Default() //nolint:forbidigo // a library speaks where its program does
}

// client returns what requests are sent with, and how to let go of its connections.
func (o *options) client() (client *http.Client, release func()) {
	noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if o.httpClient != nil {
		own := *o.httpClient
		if own.CheckRedirect == nil {
			own.CheckRedirect = noRedirects
		}
		return &own, func() {}
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program has put something of its own there
		return &http.Client{CheckRedirect: noRedirects}, func() {}
	}
	transport := base.Clone()
	transport.MaxIdleConnsPerHost = 2 * maxSenders
	return &http.Client{Transport: transport, CheckRedirect: noRedirects}, transport.CloseIdleConnections
}
