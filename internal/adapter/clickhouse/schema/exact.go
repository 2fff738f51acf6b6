package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
)

// ErrInexact is wrapped by what CheckExactness returns when the servers are
// reachable and something would let a retry store rows twice, or lose rows that
// were acknowledged.
var ErrInexact = errors.New("ClickHouse is not set up to store every event exactly once")

// The least that a table must remember. They are a floor, which a server's own
// defaults for replicated tables reach; what a rate of inserts needs is told by
// the metric of the horizon.
const (
	leastWindow  = 10_000
	leastSeconds = 3_600
)

// The first version on which the tests of this package pass.
const leastMajor, leastMinor = 25, 8

// exactAt looks at what one address leads to, the first of so many that are still to be
// asked.
func exactAt(ctx context.Context, cfg config.ClickHouse, addr string, toAsk int) error {
	c, err := clickhouse.DialAddr(ctx, cfg, addr, toAsk)
	if err != nil {
		return err
	}
	defer c.Close()
	if info := c.ServerInfo(); info.Major < leastMajor || info.Major == leastMajor && info.Minor < leastMinor {
		return inexact("the server has version %d.%d; upgrade it to %d.%d or later",
			info.Major, info.Minor, leastMajor, leastMinor)
	}
	if err := checkSettings(ctx, c, cfg.User); err != nil {
		return err
	}
	tables, err := readStored(ctx, c)
	if err != nil {
		return err
	}
	for _, check := range []func(map[string]stored) error{
		checkViews, checkTargets,
		func(m map[string]stored) error { return checkCluster(ctx, c, cfg, m[Events.Name]) },
		func(m map[string]stored) error { return checkQuorum(cfg, m[Events.Name]) },
	} {
		if err := check(tables); err != nil {
			return err
		}
	}
	return nil
}

func inexact(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInexact, fmt.Sprintf(format, args...))
}

// forbidden are the responses of a server that knows the user's profile and does not
// take a setting by it. All others are about the moment: a server that is going down
// rejects the same statement with 236 (ABORTED), and takes it when it is back.
var forbidden = []proto.Error{
	proto.ErrReadonly,                   // 164: the profile is readonly
	proto.ErrSettingConstraintViolation, // 452: it bounds the setting, or holds it
	proto.ErrUnknownSetting,             // 115: an important one, which no profile of this server has
}

// checkSettings sends every setting as an insert does and asks what became of
// it: a profile may forbid to change it, or hold it where it is.
func checkSettings(ctx context.Context, c *clickhouse.Client, user string) error {
	for _, s := range clickhouse.InsertTokenSettings("a token") {
		known, err := clickhouse.Texts(ctx, c, "SELECT toString(count()) FROM system.settings WHERE name = '"+s.Key+"'")
		if err != nil {
			return err
		}
		if known[0] == "0" && !s.Important {
			continue // a version before it, which needs only the others
		}
		got, err := clickhouse.Texts(ctx, c, "SELECT toString(getSetting('"+s.Key+"'))", s)
		if ch.IsErr(err, forbidden...) {
			return inexact("user %s may not set %s to %q (%v); allow it in the user's profile", user, s.Key, s.Value, err)
		}
		if err != nil {
			return fmt.Errorf("checking whether user %s may set %s: %w", user, s.Key, err)
		}
		if err := settingIs(s, got[0], user); err != nil {
			return err
		}
	}
	return nil
}

func settingIs(s ch.Setting, got, user string) error {
	if got = asNumber(got); got != s.Value {
		return inexact("%s stays %s for user %s after a query set it to %s; allow it in the user's profile",
			s.Key, got, user, s.Value)
	}
	return nil
}

// asNumber writes a boolean as the number that settings are sent as.
func asNumber(value string) string {
	switch value {
	case "true":
		return "1"
	case "false":
		return "0"
	}
	return value
}

func checkViews(tables map[string]stored) error {
	for i := range Views {
		v := &Views[i]
		switch have, ok := tables[v.Name]; {
		case !ok:
			return inexact("view %s is missing, so %s would lack rows; run \"millrace migrate\"", v.Name, v.To)
		case have.target != v.To:
			return inexact("view %s writes to %s, not to %s; drop it and run \"millrace migrate\"", v.Name, have.target, v.To)
		case !slices.Contains(tables[v.From].views, v.Name):
			return inexact("view %s does not read from %s; drop it and run \"millrace migrate\"", v.Name, v.From)
		}
	}
	return nil
}

// checkTargets follows the views from every table that is inserted into under a
// token to all that is written by such an insert, whoever made it.
func checkTargets(tables map[string]stored) error {
	return fed(tables, func(name, why string) error {
		t, ok := tables[name]
		if !ok {
			return inexact("table %s%s is missing", name, why)
		}
		return t.check(name, why)
	})
}

// fed calls f with the tables of records, the ledger and every table that views
// fill from them, each once; why says how a table came to be one of them.
func fed(tables map[string]stored, f func(name, why string) error) error {
	seen := map[string]bool{}
	var visit func(name, why string) error
	visit = func(name, why string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		if err := f(name, why); err != nil {
			return err
		}
		for _, v := range tables[name].views {
			if err := visit(tables[v].target, ", which view "+v+" fills,"); err != nil {
				return err
			}
		}
		return nil
	}
	for _, t := range append(slices.Clone(Bases), &IngestLedger) {
		if err := visit(t.Name, ""); err != nil {
			return err
		}
	}
	return nil
}

// check reports what of a table that is written under a token is not as it must
// be. A table that keeps nothing is always right.
func (t stored) check(name, why string) error {
	if t.engine == "Null" {
		return nil
	}
	if !strings.HasSuffix(t.engine, "MergeTree") {
		return inexact(
			"table %s%s has engine %s, which cannot ignore a retry; use one of the MergeTree family, or drop the view", name,
			why, t.engine)
	}
	for _, n := range t.needs() {
		if have := t.number(n.name); have < n.least {
			return inexact(
				"%s of table %s%s is %d; it must be at least %d, or %s; run \"ALTER TABLE %s MODIFY SETTING %s = %d\"",
				n.name, name, why, have, n.least, n.orElse, name, n.name, n.advised)
		}
	}
	return nil
}

type need struct {
	name           string
	least, advised int
	orElse         string
}

func (t stored) needs() []need {
	const doubled, lost = "a retry stores its rows twice", "a power cut loses acknowledged rows"
	if t.replicated() {
		return []need{
			{replicatedWindow, leastWindow, 300_000, doubled},
			{replicatedWindow + "_seconds", leastSeconds, 86_400, doubled},
		}
	}
	return []need{
		{window, leastWindow, 300_000, doubled},
		{"fsync_after_insert", 1, 1, lost},
		{"fsync_part_directory", 1, 1, lost},
	}
}

// checkCluster reports whether a retry always reaches a replica of one shard: they share
// the tokens of the first attempt.
func checkCluster(ctx context.Context, c *clickhouse.Client, cfg config.ClickHouse, events stored) error {
	if cfg.Cluster == "" {
		return nil
	}
	if !events.replicated() {
		return inexact("clickhouse.cluster is set and table %s has engine %s; recreate the tables in an empty database",
			Events.Name, events.engine)
	}
	shards, err := clickhouse.Texts(ctx, c, "SELECT toString(uniqExact(shard_num)) FROM system.clusters WHERE cluster = '"+
		clickhouse.Quote.Replace(cfg.Cluster)+"'")
	if err != nil {
		return err
	}
	if shards[0] != "1" {
		return inexact(
			"cluster %s has %s shards; it must have one, because a retry may reach another shard, which does not know its token",
			cfg.Cluster, shards[0])
	}
	return nil
}

// checkQuorum reports whether an insert is acknowledged by more than one disk. Tables of
// the kind Shared have theirs in common.
func checkQuorum(cfg config.ClickHouse, events stored) error {
	if !strings.HasPrefix(events.engine, "Replicated") || cfg.InsertQuorum > 1 || cfg.AllowQuorumOfOne {
		return nil
	}
	return inexact("table %s is replicated and clickhouse.insert_quorum is %d: a replica that is lost takes with it "+
		"what the others had not fetched; "+
		"set it to 2, or clickhouse.allow_quorum_of_one", Events.Name, cfg.InsertQuorum)
}
