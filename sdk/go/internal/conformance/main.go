// Command conformance does with a client what it is told on standard input, and
// tells on standard output what came of it, so that the cases of
// tests/contract/sdk can be played by a client in any language. Both are JSON, one
// value for each call:
//
//	{"call":"new","value":{"apiKey":"…","apiUrl":"…","batchSize":10}}   {"success":true}
//	{"call":"track","value":{"name":"signup"}}                          {"success":true,"delivery":"queued",…}
//
// The calls are new, track, batch, identify, flush, close, globalProperties,
// cacheSize and clearCache. Options and members have the names of the
// specification. The program ends when its input does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	millrace "github.com/millrace/millrace/sdk/go/v2"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// request is one line of input.
type request struct {
	Call  string          `json:"call"`
	Value json.RawMessage `json:"value"`
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	dec, enc := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var p player
	for {
		var r request
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading a call: %w", err)
		}
		result, err := p.play(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Call, err)
		}
		if err := enc.Encode(result); err != nil {
			return fmt.Errorf("telling the result of %s: %w", r.Call, err)
		}
	}
}

// player plays calls with the client that the last "new" has made.
type player struct{ client *millrace.Client }

// state is what calls without a result of their own tell.
type state struct {
	Success bool   `json:"success"`
	Error   string `json:"error,omitempty"`
	Size    int    `json:"size"`
}

func (p *player) play(ctx context.Context, r request) (any, error) {
	if r.Call == "new" {
		return with(r.Value, p.open)
	}
	if p.client == nil {
		return nil, errors.New("there is no client")
	}
	switch r.Call {
	case "track":
		return with(r.Value, func(e event) any { return p.client.Track(ctx, e.event()) })
	case "batch":
		return with(r.Value, func(list []event) any {
			events := make([]millrace.Event, 0, len(list))
			for i := range list {
				events = append(events, list[i].event())
			}
			return p.client.Batch(ctx, events)
		})
	case "identify":
		return with(r.Value, func(i identity) any { return p.client.Identify(ctx, i.identity()) })
	case "flush":
		return p.client.Flush(ctx), nil
	case "close":
		return p.client.Close(ctx), nil
	case "globalProperties":
		return with(r.Value, func(properties map[string]any) any {
			p.client.SetGlobalProperties(properties)
			return state{Success: true, Size: len(p.client.GlobalProperties())}
		})
	case "cacheSize":
		return state{Success: true, Size: p.client.DeduplicationCacheSize()}, nil
	case "clearCache":
		p.client.ClearDeduplicationCache()
		return state{Success: true}, nil
	}
	return nil, errors.New("no such call")
}

// settings are the options of the specification. One that is not told keeps its
// default.
type settings struct {
	APIKey                    string  `json:"apiKey"`
	WebsiteID                 string  `json:"websiteId"`
	Namespace                 string  `json:"namespace"`
	Source                    string  `json:"source"`
	APIURL                    *string `json:"apiUrl"`
	Debug                     bool    `json:"debug"`
	EnableBatching            *bool   `json:"enableBatching"`
	BatchSize                 *int    `json:"batchSize"`
	BatchTimeout              *int    `json:"batchTimeout"` // milliseconds
	MaxQueueSize              *int    `json:"maxQueueSize"`
	EnableDeduplication       *bool   `json:"enableDeduplication"`
	MaxDeduplicationCacheSize *int    `json:"maxDeduplicationCacheSize"`
	RequestTimeoutMs          *int    `json:"requestTimeoutMs"`
}

func (p *player) open(s settings) any {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	opts := []millrace.Option{
		millrace.WithWebsiteID(s.WebsiteID), millrace.WithNamespace(s.Namespace), millrace.WithSource(s.Source),
		millrace.WithDebug(s.Debug), millrace.WithLogger(log),
	}
	opts = given(opts, s.APIURL, millrace.WithAPIURL)
	opts = given(opts, s.EnableBatching, millrace.WithBatching)
	opts = given(opts, s.BatchSize, millrace.WithBatchSize)
	opts = given(opts, millis(s.BatchTimeout), millrace.WithBatchTimeout)
	opts = given(opts, s.MaxQueueSize, millrace.WithMaxQueueSize)
	opts = given(opts, s.EnableDeduplication, millrace.WithDeduplication)
	opts = given(opts, s.MaxDeduplicationCacheSize, millrace.WithMaxDeduplicationCacheSize)
	opts = given(opts, millis(s.RequestTimeoutMs), millrace.WithRequestTimeout)
	client, err := millrace.New(s.APIKey, opts...)
	if err != nil {
		return state{Error: err.Error()}
	}
	p.client = client
	return state{Success: true}
}

func given[T any](opts []millrace.Option, value *T, option func(T) millrace.Option) []millrace.Option {
	if value == nil {
		return opts
	}
	return append(opts, option(*value))
}

func millis(n *int) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Millisecond
	return &d
}

// event is an event as the specification names its members.
type event struct {
	Type                string         `json:"type"`
	Name                string         `json:"name"`
	Properties          map[string]any `json:"properties"`
	EventID             string         `json:"eventId"`
	Path                string         `json:"path"`
	AnonymousID         string         `json:"anonymousId"`
	ProfileID           string         `json:"profileId"`
	SessionID           string         `json:"sessionId"`
	AnonymizeVisitorIDs any            `json:"anonymizeVisitorIds"`
	Timestamp           *int64         `json:"timestamp"` // Unix milliseconds
	Namespace           string         `json:"namespace"`
	Source              string         `json:"source"`
	WebsiteID           string         `json:"websiteId"`
}

func (e *event) event() millrace.Event {
	to := millrace.Event{
		Type: e.Type, Name: e.Name, Properties: e.Properties, EventID: e.EventID, Path: e.Path, AnonymousID: e.AnonymousID,
		ProfileID: e.ProfileID, SessionID: e.SessionID, Namespace: e.Namespace, Source: e.Source, WebsiteID: e.WebsiteID,
	}
	to.AnonymizeVisitorIDs = anonymize(e.AnonymizeVisitorIDs)
	if e.Timestamp != nil {
		to.Timestamp = time.UnixMilli(*e.Timestamp)
	}
	return to
}

// identity is an identity as the wire names its members.
type identity struct {
	ProfileID           string         `json:"profileId"`
	EventID             string         `json:"eventId"`
	Timestamp           *int64         `json:"timestamp"` // Unix milliseconds
	AnonymousID         string         `json:"anonymousId"`
	Traits              map[string]any `json:"traits"`
	AnonymizeVisitorIDs any            `json:"anonymizeVisitorIds"`
	WebsiteID           string         `json:"websiteId"`
}

func (i *identity) identity() millrace.Identity {
	to := millrace.Identity{
		ProfileID: i.ProfileID, EventID: i.EventID, AnonymousID: i.AnonymousID, Traits: i.Traits,
		AnonymizeVisitorIDs: anonymize(i.AnonymizeVisitorIDs), WebsiteID: i.WebsiteID,
	}
	if i.Timestamp != nil {
		to.Timestamp = time.UnixMilli(*i.Timestamp)
	}
	return to
}

// anonymize returns a choice that JSON has as true, false, a text, or not at all.
func anonymize(v any) millrace.Anonymize {
	if v == nil {
		return millrace.AnonymizeUnset
	}
	return millrace.Anonymize(fmt.Sprint(v))
}

// with reads a value and does something with it.
func with[T any](value json.RawMessage, do func(T) any) (any, error) {
	var v T
	if err := json.Unmarshal(value, &v); err != nil {
		return nil, fmt.Errorf("reading the value: %w", err)
	}
	return do(v), nil
}
