package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
)

// noServer is what a server says that has no identity of its own, as the embedded one
// does; then that of the table must do.
const noServer = "00000000-0000-0000-0000-000000000000"

// destination is what an address leads to.
type destination struct {
	addr       string
	server     string // its serverUUID()
	table      string // the id of the table of events, which its server gave it; empty without one
	replicated bool   // it has the table of events, replicated
}

// CheckServers reports whether a process may go on at another of its addresses where
// one fails: the tables are replicated, or all addresses lead to one server. Servers
// that share neither tables nor tokens would store a retry twice and answer queries
// differently. What it says then wraps ErrInexact; an address that does not answer is
// another error while the others' tables are not replicated, for nobody knows where it
// leads.
func CheckServers(ctx context.Context, cfg config.ClickHouse) error {
	if len(cfg.Addr) < 2 {
		return nil
	}
	var all []destination
	var silent error
	for _, addr := range cfg.Addr {
		id, err := whereTo(ctx, cfg, addr)
		if err != nil {
			silent = fmt.Errorf("reading which server %s leads to: %w", addr, err)
			continue
		}
		all = append(all, id)
	}
	switch single := unreplicated(all); {
	case len(all) == 0:
		return silent
	case len(single) == 0:
		return nil
	case silent != nil:
		return silent
	default:
		return oneServer(all, single)
	}
}

// unreplicated returns those without the table of events, replicated.
func unreplicated(all []destination) []destination {
	return slices.DeleteFunc(slices.Clone(all), func(d destination) bool { return d.replicated })
}

func oneServer(all, single []destination) error {
	for _, d := range all {
		if d.sameAs(all[0]) {
			continue
		}
		var names []string
		for _, s := range single {
			names = append(names, s.addr)
		}
		return inexact("clickhouse.addr names several servers, and table %s is not replicated at %s: a retry may reach a "+
			"server that does not know its token, "+
			"and queries would differ; name one of them, or make replicated tables with clickhouse.cluster", Events.Name,
			strings.Join(names, ", "))
	}
	return nil
}

func (d destination) sameAs(other destination) bool {
	told := d.server != noServer || d.table != "" && d.table != noServer
	return told && d.server == other.server && d.table == other.table
}

func whereTo(ctx context.Context, cfg config.ClickHouse, addr string) (destination, error) {
	c, err := clickhouse.DialAddr(ctx, clickhouse.WithoutDatabase(cfg), addr, 1)
	if err != nil {
		return destination{}, err
	}
	defer c.Close()
	return destinationOf(ctx, c, cfg.Database, addr)
}

func destinationOf(ctx context.Context, c *clickhouse.Client, database, addr string) (destination, error) {
	server, err := clickhouse.Texts(ctx, c, "SELECT toString(serverUUID())")
	if err != nil {
		return destination{}, err
	}
	table, err := clickhouse.Texts(ctx, c, "SELECT concat(toString(uuid), ' ', engine) FROM system.tables WHERE "+
		"database = '"+clickhouse.Quote.Replace(database)+"' AND name = '"+Events.Name+"'")
	if err != nil {
		return destination{}, err
	}
	id, engine, _ := strings.Cut(strings.Join(table, ""), " ")
	return destination{addr, strings.Join(server, ""), id, stored{engine: engine}.replicated()}, nil
}
