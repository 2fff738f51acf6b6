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
	const away = "sinks wait and queries return 503; accepted events stay in Kafka until its retention removes them"
	reached := n.dials(ctx, "clickhouse.reach", "clickhouse.addr", o.Settings.ClickHouse.Addr, away,
		"start the servers, or correct clickhouse.addr (it needs the port of the native protocol, 9000)")
	if len(reached) == 0 {
		return
	}
	through := *o // one that is silent would take the time in which others tell
	through.Settings.ClickHouse.Addr = reached
	cfg := through.Settings.ClickHouse
	asked := o.Now()
	server, err := inspect.ReadServer(ctx, cfg)
	if err != nil {
		n.fail("clickhouse.reach", "ClickHouse accepts connections and does not respond: "+err.Error(), away,
			"check that the port is of the native protocol (9000, or 9440 with TLS), and check clickhouse.user and its password")
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
		const why = "merges need as much space as the parts they join; a full disk stops inserts, and lag grows until " +
			"Kafka's retention"
		const do = "add disk space, or shorten the retention: docs/guides/capacity.md"
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
	const why = "sinks and query hosts are not ready with another schema than theirs"
	err := schema.Check(ctx, o.Settings.ClickHouse)
	if err != nil {
		do := `run "millrace migrate"; migrations only add, so the previous version keeps working`
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
		n.warn("clickhouse.schema", fmt.Sprintf("the database has %d migrations that this build does not contain", s.Newer),
			"an upgrade is in progress, or this binary is old; it keeps working, because migrations only add",
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
		n.fail("clickhouse.exactness", err.Error(), "a sink refuses to start, because it could lose events or store them "+
			"twice",
			"follow the instruction in the message")
	case err != nil:
		n.fail("clickhouse.exactness", err.Error(),
			"the conditions of exactly-once storage are unknown, and a starting sink waits until they are known", "see "+
				"clickhouse.reach")
	default:
		n.ok("clickhouse.exactness", "ClickHouse meets all conditions of exactly-once storage")
	}
}

func (n *notebook) rights(ctx context.Context, o *Options) {
	lacking, err := inspect.LackingGrants(ctx, o.Settings.ClickHouse)
	if err != nil {
		n.warn("clickhouse.rights", err.Error(), "the permissions of the user are unknown", "run SHOW GRANTS as this user")
		return
	}
	if len(lacking) > 0 {
		user := o.Settings.ClickHouse.User
		n.fail("clickhouse.rights", fmt.Sprintf("user %s lacks %s", user, strings.Join(lacking, ", ")),
			"sinks do not start or are halted, queries fail, or erasures never end",
			"GRANT "+strings.Join(lacking, ", ")+" TO "+user)
		return
	}
	n.ok("clickhouse.rights", "the user has all permissions that the daemons need")
}

func (n *notebook) crowds(ctx context.Context, o *Options) {
	tables, err := inspect.TableStates(ctx, o.Settings.ClickHouse)
	if err != nil {
		n.warn("clickhouse.parts", err.Error(), "the number of parts per table is unknown",
			"run SELECT count() FROM system.parts WHERE active GROUP BY table")
		return
	}
	for _, t := range tables {
		if t.Crowded > crowded {
			n.warn("clickhouse.parts", fmt.Sprintf("table %s has %d parts in one partition", t.Name, t.Crowded),
				"merges do not keep up; the server delays inserts at 1000 parts and rejects them at 3000",
				"make inserts fewer and larger (sink.max_rows, sink.max_wait), use faster disks, or raise background_pool_size")
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
