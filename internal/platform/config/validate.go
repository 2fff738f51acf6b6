package config

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Validate returns every problem of the settings, joined; each begins with the
// key of its setting. The settings that Load returns have passed it.
func (s Settings) Validate() error {
	var errs []error
	for _, p := range s.problems() {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// missing returns a problem of every given key whose setting is empty.
func (s Settings) missing(keys []string) []*problem {
	var out []*problem
	for _, key := range keys {
		f, ok := lookupField(key)
		switch {
		case !ok:
			out = append(out, &problem{key: key, text: "is not a setting"})
		case f.isEmpty(&s) && !f.hasFile(&s):
			out = append(out, &problem{key: key, text: "must be set with " + f.Env + " or --" + f.Key})
		}
	}
	return out
}

func (s Settings) problems() []*problem {
	var out []*problem
	for i := range table {
		f := &table[i]
		if err := f.rules.check(f.of(&s)); err != nil {
			out = append(out, &problem{key: f.Key, text: err.Error()})
		}
	}
	for _, r := range orders {
		if low, high := r.low(&s), r.high(&s); low > high || r.strict && low == high {
			out = append(out, &problem{key: r.key, text: fmt.Sprintf("%s must be %s, which is %s: %s",
				formatDuration(r.low(&s)), r.says, formatDuration(high), r.why)})
		}
	}
	if s.Ingest.Listen == "" && s.Link.Listen == "" {
		out = append(out,
			&problem{key: "ingest.listen", text: "must be set unless link.listen is: the edge would serve nothing"})
	}
	return slices.Concat(out, s.needs(), s.twice())
}

// needs finds settings that would be passed over in silence because another one is
// missing.
func (s Settings) needs() []*problem {
	k, m := s.Kafka, s.Mail
	sasl, smtp := given(k.SASL.Password, k.SASL.PasswordFile), given(m.SMTP.Password, m.SMTP.PasswordFile)
	var out []*problem
	for _, n := range append([]need{
		{"kafka.sasl.mechanism", k.SASL.Mechanism != "", "kafka.sasl.user", k.SASL.User != "", "empty"},
		{"kafka.sasl.mechanism", k.SASL.Mechanism != "", "kafka.sasl.password", sasl, "empty"},
		{"kafka.sasl.user", k.SASL.User != "", "kafka.sasl.mechanism", k.SASL.Mechanism != "", "empty"},
		{"kafka.sasl.password", sasl, "kafka.sasl.mechanism", k.SASL.Mechanism != "", "empty"},
		{"mail.smtp.addr", m.SMTP.Addr != "", "mail.from", m.From != "", "empty"},
		{"mail.from", m.From != "", "mail.smtp.addr", m.SMTP.Addr != "", "empty"},
		{"mail.smtp.user", m.SMTP.User != "", "mail.smtp.addr", m.SMTP.Addr != "", "empty"},
		{"mail.smtp.user", m.SMTP.User != "", "mail.smtp.password", smtp, "empty"},
		{"mail.smtp.password", smtp, "mail.smtp.user", m.SMTP.User != "", "empty"},
		{"billing.token", given(s.Billing.Token, s.Billing.TokenFile), "billing.url", s.Billing.URL != "", "empty"},
		{"store.password", given(s.Store.Password, s.Store.PasswordFile), "store.url", s.Store.IsSet(), "empty"},
		{"redis.password", given(s.Redis.Password, s.Redis.PasswordFile), "redis.url", s.Redis.IsSet(), "empty"},
	}, s.tlsNeeds()...) {
		if n.is && !n.has {
			out = append(out, &problem{key: n.key, text: "requires " + n.needs + ", which is " + n.absent})
		}
	}
	return out
}

// need says that a setting is of no use without another one.
type need struct {
	key    string
	is     bool
	needs  string
	has    bool
	absent string // what the other one is
}

// order demands that one duration does not exceed another.
type order struct {
	key       string
	low, high func(*Settings) time.Duration
	strict    bool // not equal either
	says, why string
}

var orders = []order{
	{
		key:    "sink.insert_timeout",
		low:    func(s *Settings) time.Duration { return s.Sink.InsertTimeout },
		high:   func(s *Settings) time.Duration { return s.Sink.Rebalance / 2 },
		strict: true, says: "below half of sink.rebalance_timeout",
		why: "a member must finish and commit one insert before the rebalance ends",
	},
	{
		key:  "sink.session_timeout",
		low:  func(s *Settings) time.Duration { return s.Sink.Session },
		high: func(s *Settings) time.Duration { return s.Sink.Rebalance },
		says: "at most sink.rebalance_timeout",
		why:  "a member that returns within its session must be able to join the rebalance",
	},
	{
		key:  "sink.drain_budget",
		low:  func(s *Settings) time.Duration { return s.Sink.DrainBudget },
		high: func(s *Settings) time.Duration { return s.Shutdown.Grace },
		says: "at most shutdown.grace",
		why:  "the shutdown would interrupt the last insert",
	},
	{
		key:  "ingest.deadline",
		low:  func(s *Settings) time.Duration { return s.Ingest.Deadline },
		high: func(s *Settings) time.Duration { return s.Shutdown.Grace },
		says: "at most shutdown.grace",
		why:  "the shutdown would interrupt accepted requests",
	},
	{
		key:  "query.deadline",
		low:  func(s *Settings) time.Duration { return s.Query.Deadline },
		high: func(s *Settings) time.Duration { return s.Shutdown.Grace },
		says: "at most shutdown.grace",
		why:  "the shutdown would interrupt accepted requests",
	},
	{
		key:  "session.idle",
		low:  func(s *Settings) time.Duration { return s.Session.Idle },
		high: func(s *Settings) time.Duration { return s.Session.Absolute },
		says: "at most session.absolute",
		why:  "a session ends before it can be idle for longer",
	},
	{
		key:  "billing.timeout",
		low:  func(s *Settings) time.Duration { return s.Billing.Timeout },
		high: func(s *Settings) time.Duration { return s.Shutdown.Grace },
		says: "at most shutdown.grace",
		why:  "the shutdown would interrupt accepted requests",
	},
	{
		key:  "lookup.fresh",
		low:  func(s *Settings) time.Duration { return s.Lookup.Fresh },
		high: func(s *Settings) time.Duration { return s.Lookup.Stale },
		says: "at most lookup.stale",
		why:  "an entry must be read again before it is too old to serve",
	},
}
