package fault

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/tests/harness"
)

// Clients' clocks go wrong by up to ten years: what lies ahead is stored as of
// receipt, with the client's time beside it; what is old goes to the backfill topic,
// so that live inserts stay within some months.
func TestClocksThatAreYearsOffKeepInsertsTogether(t *testing.T) {
	tr := trial{
		fault: "F15 clients' clocks", point: "-10 to +10 years", on: kfakeOnly, few: 1, body: func(t *testing.T, s *stage) {
			f := s.newFront(1)
			f.settings[0].Ingest.Deadline = 20 * time.Second
			one := s.startEdge(f.settings[0])
			const n = 400
			begin := time.Now()
			var live, ahead, old int
			type sent struct {
				Name      string `json:"name"`
				EventID   string `json:"eventId"`
				Timestamp int64  `json:"timestamp"`
			}
			raw := map[string]int64{}
			var events []sent
			for i := range n {
				// Ten years each way, and some near the bounds of what is live.
				off := time.Duration(s.rng.Int64N(int64(20*365*24*time.Hour))) - 10*365*24*time.Hour
				if i%2 == 0 {
					off = time.Duration(s.rng.Int64N(int64(93*24*time.Hour))) - 91*24*time.Hour
				}
				at := begin.Add(off).UnixMilli()
				e := sent{"a", fmt.Sprint("e", i), at}
				events = append(events, e)
				switch {
				case off > record.MaxAhead+time.Minute:
					ahead++
					raw[e.EventID] = at
				case off < -record.BackfillAge-time.Minute:
					old++
				case off < record.MaxAhead-time.Minute && off > -record.BackfillAge+time.Minute:
					live++
				default: // so near a bound that the time of receipt decides
					events = events[:len(events)-1]
				}
			}
			body, err := json.Marshal(events)
			if err != nil {
				t.Fatal(err)
			}
			a, err := harness.Post(t.Context(),
				"http://"+f.settings[0].Ingest.Listen+"/track?website_id="+f.fixture.WebsiteID, f.fixture.Key, body)
			if err != nil || a.Status != 200 {
				t.Fatalf("answer %d %s, %v", a.Status, a.Body, err)
			}
			one.stop()
			s.store(locks{})
			backfill, err := s.admin.ListEndOffsets(t.Context(), kafka.TopicName(s.settings.Kafka, record.TopicEventsBackfill))
			if err != nil {
				t.Fatal(err)
			}
			inBackfill := int64(0)
			for _, p := range backfill[kafka.TopicName(s.settings.Kafka, record.TopicEventsBackfill)] {
				inBackfill += p.Offset
			}
			if got := s.number("SELECT count() FROM events"); got != live+ahead || inBackfill != int64(old) {
				t.Errorf("%d are stored and %d in the backfill topic, want %d and %d", got, inBackfill, live+ahead, old)
			}
			clamped := s.query("SELECT event_id, toUnixTimestamp64Milli(raw_time) FROM events WHERE " +
				"toUnixTimestamp64Milli(raw_time) > 0 AND event_time = received_at")
			if len(clamped) != ahead {
				t.Errorf("%d are stored as of receipt, want %d", len(clamped), ahead)
			}
			for _, row := range clamped {
				if want := raw[row[0]]; strconv.FormatInt(want, 10) != row[1] {
					t.Errorf("%s: the client's time is stored as %s, was %d", row[0], row[1], want)
				}
			}
			first, last := begin.UTC().Add(-record.BackfillAge), begin.UTC().Add(record.MaxAhead)
			most := (last.Year()-first.Year())*12 + int(last.Month()-first.Month()) + 1
			for _, row := range s.query(fmt.Sprintf(
				"SELECT _partition, uniqExact(toYYYYMM(event_date)) AS months FROM events GROUP BY _partition HAVING months > %d",
				most)) {
				t.Errorf("partition %s was spread over %s months", row[0], row[1])
			}
			if late := s.number("SELECT countIf(event_time > received_at + INTERVAL 1 HOUR) FROM events"); late > 0 {
				t.Errorf("%d events lie ahead", late)
			}
			s.verdict = verdict{partly: true, Acked: len(events), Base: live + ahead}
		},
	}
	tr.run(t)
}
