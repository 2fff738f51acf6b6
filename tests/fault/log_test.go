package fault

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
)

// eachRecord gives do so many records of a topic, from its beginning.
func (s *stage) eachRecord(topic string, n int64, do func(*kgo.Record)) {
	s.t.Helper()
	opts, err := kafka.ClientOptions(s.settings.Kafka, "log", s.log.Logger(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	reader, err := kgo.NewClient(append(opts, kgo.ConsumeTopics(topic))...)
	if err != nil {
		s.t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
	defer cancel()
	for n > 0 && ctx.Err() == nil {
		reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			n--
			do(r)
		})
	}
	if n > 0 {
		s.t.Fatalf("%d records of %s could not be read", n, topic)
	}
}

// logged is an event in the log of live events.
type logged struct{ Owner, ID string }

// eachLogged reads the log of live events from its beginning to its end.
func (s *stage) eachLogged(do func(logged)) {
	s.t.Helper()
	ends, err := s.ends(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	all := int64(0)
	for _, end := range ends {
		all += end
	}
	s.eachRecord(s.topic(), all, func(r *kgo.Record) {
		var e logged
		if err := json.Unmarshal(r.Value, &e); err != nil {
			s.t.Error(err)
		}
		do(e)
	})
}
