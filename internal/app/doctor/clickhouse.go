package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/adapter/clickhouse/inspect"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
)

// crowded is a number of parts that merges which keep up stay far below; the
// server slows inserts down at 1000.
const crowded = 300

// lookAtClickHouse finds out whether it answers, holds the tables of this version,
// keeps what exactly once needs, and has room.
func lookAtClickHouse(ctx context.Context, o *Options, n *notebook) {
	if !o.has(Sink, Query) {
		return
	}
	const away = "sinks wait and queries are answered 503; what is accepted stays in Kafka for as long as its retention"
	reached := n.dials(ctx, "clickhouse.reach", "clickhouse.addr", o.Settings.ClickHouse.Addr, away,
		"start the servers, or correct clickhouse.addr (the native protocol's port, 9000)")
	if len(reached) == 0 {
		return
	}
	through := *o // one that is silent would take the time in which others tell
	through.Settings.ClickHouse.Addr = reached
	cfg := through.Settings.ClickHouse
	asked := o.Now()
	server, err := inspect.ReadServer(ctx, cfg)
	if err != nil {
		n.fail("clickhouse.reach", "ClickHouse takes connections and does not answer: "+err.Error(), away,
			"is it the native protocol's port (9000, or 9440 with TLS), and are clickhouse.user and its password right?")
		return
	}
	answered := o.Now()
	n.ok("clickhouse.reach", fmt.Sprintf("%s: ClickHouse %s", strings.Join(cfg.Addr, ", "), server.Version))
	n.clocks("clock.clickhouse", "ClickHouse", server.Clock, asked, answered)
	n.disks(server.Disks)
	n.rights(ctx, &through)
	if n.clickhouseSchema(ctx, &through) {
		n.crowds(ctx, &through)
		n.exactness(ctx, o) // what it promises is of all servers
	}
}

// Shares of a disk that are free.
const (
	scarce = 0.15
	urgent = 0.05
)

func (n *notebook) disks(disks []inspect.Disk) {
	for _, d := range disks {
		if d.Size <= 0 {
			continue // an object store
		}
		free := float64(d.Free) / float64(d.Size)
		what := fmt.Sprintf("disk %s of ClickHouse has %s free of %s", d.Name, Bytes(d.Free), Bytes(d.Size))
		const why = "merges need as much room as the parts they join; a full disk stops inserts, and lag grows until " +
			"Kafka's retention"
		const do = "add room, or shorten what is kept: docs/guides/capacity.md"
		switch {
		case free < urgent:
			n.fail("clickhouse.disk", what, why, do)
		case free < scarce:
			n.warn("clickhouse.disk", what, why, do)
		default:
			n.ok("clickhouse.disk", what)
		}
	}
}

// clickhouseSchema reports whether the tables can be used.
func (n *notebook) clickhouseSchema(ctx context.Context, o *Options) bool {
	const why = "sinks and query hosts are not ready with a schema that is not theirs"
	err := schema.Check(ctx, o.Settings.ClickHouse)
	if err != nil {
		do := `"millrace migrate"; migrations only add, so the version before goes on`
		switch {
		case !errors.Is(err, schema.ErrSchema):
			do = "see clickhouse.reach" // it could not be found out
		case errors.Is(err, schema.ErrChanged):
			do = useItsBuild
		}
		n.fail("clickhouse.schema", err.Error(), why, do)
		return !errors.Is(err, schema.ErrSchema) // else there may be no database
	}
	s, err := schema.ReadState(ctx, o.Settings.ClickHouse)
	switch {
	case err != nil:
		n.fail("clickhouse.schema", err.Error(), why, "see clickhouse.reach")
	case s.Newer > 0:
		n.warn("clickhouse.schema", fmt.Sprintf("the database has %d migrations that this build does not know", s.Newer),
			"an upgrade is under way, or this is an old binary; it goes on working, for migrations only add",
			"finish the upgrade: docs/guides/upgrading.md")
	default:
		n.ok("clickhouse.schema", fmt.Sprintf("all %d migrations are applied", s.Known))
	}
	return true
}

func (n *notebook) exactness(ctx context.Context, o *Options) {
	if !o.has(Sink) {
		return
	}
	switch err := schema.CheckExactness(ctx, o.Settings.ClickHouse); {
	case errors.Is(err, schema.ErrInexact):
		n.fail("clickhouse.exactness", err.Error(), "a sink refuses to start, rather than store something twice or lose it",
			"as the sentence says")
	case err != nil:
		n.fail("clickhouse.exactness", err.Error(),
			"what exactly once relies on is not known, and a sink that starts waits until it is", "see clickhouse.reach")
	default:
		n.ok("clickhouse.exactness", "everything that exactly once relies on is in force")
	}
}

func (n *notebook) rights(ctx context.Context, o *Options) {
	lacking, err := inspect.LackingGrants(ctx, o.Settings.ClickHouse)
	if err != nil {
		n.warn("clickhouse.rights", err.Error(), "what the user may do is unknown", "SHOW GRANTS")
		return
	}
	if len(lacking) > 0 {
		user := o.Settings.ClickHouse.User
		n.fail("clickhouse.rights", fmt.Sprintf("user %s lacks %s", user, strings.Join(lacking, ", ")),
			"sinks do not start or are halted, queries fail, or erasures never end",
			"GRANT "+strings.Join(lacking, ", ")+" TO "+user)
		return
	}
	n.ok("clickhouse.rights", "the user may do what the daemons do")
}

func (n *notebook) crowds(ctx context.Context, o *Options) {
	tables, err := inspect.TableStates(ctx, o.Settings.ClickHouse)
	if err != nil {
		n.warn("clickhouse.parts", err.Error(), "how crowded the tables are is unknown",
			"SELECT count() FROM system.parts WHERE active GROUP BY table")
		return
	}
	for _, t := range tables {
		if t.Crowded > crowded {
			n.warn("clickhouse.parts", fmt.Sprintf("table %s has %d parts in one partition", t.Name, t.Crowded),
				"merges do not keep up; the server slows inserts down at 1000 and refuses them at 3000",
				"fewer and larger inserts (sink.max_rows, sink.max_wait), faster disks, or more background_pool_size")
		}
	}
	n.well("clickhouse.parts", "merges keep up")
}

// Bytes writes a size as people read it.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, prefix := float64(n)/unit, 0
	for size >= unit && prefix < len("KMGTP")-1 {
		size, prefix = size/unit, prefix+1
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGTP"[prefix])
}
