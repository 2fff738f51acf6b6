package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/contract/record"
)

// happening is an event as the edge would have accepted it.
type happening struct {
	id, owner, visitor, session, name string
	at, received                      int64 // Unix milliseconds
}

// key identifies an event.
type key struct{ owner, id string }

// ledgerOfAcks remembers what brokers acknowledged.
type ledgerOfAcks struct {
	mu      sync.Mutex
	events  map[key]happening // the first version
	records int               // those sent twice included
}

func (l *ledgerOfAcks) add(all []happening) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events == nil {
		l.events = map[key]happening{}
	}
	l.records += len(all)
	for _, h := range all {
		if _, had := l.events[key{h.owner, h.id}]; !had {
			l.events[key{h.owner, h.id}] = h
		}
	}
}

// unique returns how many different events were acknowledged.
func (l *ledgerOfAcks) unique() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

const (
	websites = 11
	visitors = 40
	// resent is every how many-th event is one that was sent before.
	resent = 20
	// past is every how many-th event belongs to another month.
	past = 9
	// importer is the website whose events alone do so in an everyday run: an insert of
	// two months makes two parts in each of ten tables, and takes twice as long.
	importer = "web_0"
)

// fullBacklog makes each partition's first range about as large as ranges become.
const fullBacklog = 900

// backlog is how many events a sink comes to; fewer in an everyday run, where they do.
func backlog() int {
	if exacting() {
		return fullBacklog
	}
	return fullBacklog * 2 / 3
}

// maker makes events. It is for one goroutine.
type maker struct {
	rng    *rand.Rand
	prefix string // of ids
	made   int
}

// events makes n events, some of them for the second time, received now.
func (s *stage) events(n int) []happening { return s.maker.events(n) }

func (s *maker) events(n int) []happening {
	now := time.Now()
	all := make([]happening, 0, n)
	for range n {
		if len(all) > 0 && s.rng.IntN(resent) == 0 {
			again := all[s.rng.IntN(len(all))]
			again.received = now.UnixMilli()
			all = append(all, again)
			continue
		}
		s.made++
		at, owner := now, "web_"+strconv.Itoa(s.rng.IntN(websites))
		if s.rng.IntN(past) == 0 && (owner == importer || exacting()) {
			at = now.AddDate(0, 0, -40)
		}
		all = append(all, happening{
			id: s.prefix + strconv.Itoa(s.made), owner: owner,
			visitor: "v" + strconv.Itoa(s.rng.IntN(visitors)), session: "s" + strconv.Itoa(s.rng.IntN(visitors)),
			name: "n" + strconv.Itoa(s.rng.IntN(3)), at: at.UnixMilli(), received: now.UnixMilli(),
		})
	}
	return all
}

// record returns the record that the edge makes of an event.
func (s *stage) record(h happening) *kgo.Record { return s.recordOf(h, []byte(`{"n":1}`)) }

func (s *stage) recordOf(h happening, properties []byte) *kgo.Record {
	e := record.Event{
		Version: 1, ID: []byte(h.id), Organization: []byte("org_1"), Website: []byte(h.owner), Owner: []byte(h.owner),
		Type: []byte(record.TypeCustom), Name: []byte(h.name), TimeMillis: h.at, ReceivedAt: h.received,
		AnonymousID: []byte(h.visitor), SessionID: []byte(h.session), Properties: properties,
	}
	return &kgo.Record{
		Topic: s.topic(), Key: e.Owner, Value: record.AppendEvent(nil, &e), Timestamp: time.UnixMilli(h.received),
		Headers: headers(map[string]string{
			record.HeaderSchema: record.TopicEvents, record.HeaderType: record.TypeCustom, record.HeaderWebsite: h.owner,
			record.HeaderOrganization: "org_1", record.HeaderReceivedAt: strconv.FormatInt(h.received, 10),
			record.HeaderRequestID: "r", record.HeaderEventHash: record.HashOf(e.Owner, e.ID).Hex(),
		}),
	}
}

func headers(m map[string]string) []kgo.RecordHeader {
	var all []kgo.RecordHeader
	for k, v := range m {
		all = append(all, kgo.RecordHeader{Key: k, Value: []byte(v)})
	}
	return all
}

// send publishes events and remembers them once they are acknowledged.
func (s *stage) send(all []happening) {
	s.t.Helper()
	if err := s.publish(s.t.Context(), all); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) publish(ctx context.Context, all []happening) error {
	const batch = 500
	for len(all) > 0 {
		n := min(batch, len(all))
		records := make([]*kgo.Record, n)
		for i, h := range all[:n] {
			records[i] = s.record(h)
		}
		if err := s.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return fmt.Errorf("producing %d records: %w", n, err)
		}
		s.acked.add(all[:n])
		all = all[n:]
	}
	return nil
}
