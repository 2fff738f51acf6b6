package status

import (
	"context"
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/adapter/clickhouse/inspect"
	"github.com/millrace/millrace/internal/adapter/clickhouse/ledgerstore"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/store"
)

type tableState = inspect.TableState

// ClickHouse is how the tables are.
type ClickHouse struct {
	Version    string               `json:"version"`
	Migrations schema.State         `json:"migrations"`
	Tables     []inspect.TableState `json:"tables"`
	Disks      []inspect.Disk       `json:"disks"`
	// Dirty counts the days of owners whose rollups are not used, by reason.
	Dirty map[string]int `json:"dirty_days"`
}

// What calls for attention.
const (
	crowded = 300
	scarce  = 0.15
)

func (r *reader) clickhouse(ctx context.Context) error {
	cfg := r.Settings.ClickHouse
	server, err := inspect.ReadServer(ctx, cfg)
	if err != nil {
		return err
	}
	c := &ClickHouse{Version: server.Version, Disks: server.Disks, Dirty: map[string]int{}}
	if c.Migrations, err = schema.ReadState(ctx, cfg); err != nil {
		return err
	}
	if c.Tables, err = inspect.TableStates(ctx, cfg); err != nil {
		return err
	}
	store := ledgerstore.NewStore(cfg)
	defer store.Close() //nolint:errcheck // nothing was written
	days, err := store.Listed(ctx)
	if err != nil {
		return err
	}
	for i := range days {
		c.Dirty[string(days[i].Reason)]++
	}
	r.judgeTables(c, len(days))
	r.tell(func(s *Status) { s.ClickHouse = c })
	return nil
}

func (r *reader) judgeTables(c *ClickHouse, dirty int) {
	if m := c.Migrations; m.Applied-m.Newer < m.Known {
		r.attend("ClickHouse lacks %d migrations; run \"millrace migrate\"", m.Known-m.Applied+m.Newer)
	}
	if dirty > 0 {
		var reasons []string
		for reason, n := range c.Dirty {
			reasons = append(reasons, fmt.Sprintf("%d %s", n, reason))
		}
		r.attend("queries of %d days do not use rollups: %s (docs/runbooks/sink.md#dirty-days)",
			dirty, strings.Join(reasons, ", "))
	}
	for _, t := range c.Tables {
		if t.Crowded > crowded {
			r.attend("table %s has %d parts in one partition: merges do not keep up", t.Name, t.Crowded)
		}
	}
	for _, d := range c.Disks {
		if d.Size > 0 && float64(d.Free) < scarce*float64(d.Size) {
			r.attend("disk %s of ClickHouse is %.0f %% full", d.Name, 100*(1-float64(d.Free)/float64(d.Size)))
		}
	}
}

// Store is how the metadata store is.
type Store struct {
	Version string `json:"version"`
	Schema  int64  `json:"schema"`
	Known   int64  `json:"schema_known"`
	// Quotas are the organizations that have one or were counted, Exceeded those over
	// it, CountedAgo the age of the newest count.
	Quotas     int     `json:"quotas"`
	Exceeded   int     `json:"quotas_exceeded"`
	CountedAgo Seconds `json:"quotas_counted_seconds_ago"`
	// Erasures are those that are not done.
	Erasures int `json:"open_erasures"`
}

func (r *reader) store(ctx context.Context) error {
	if path := store.MissingFile(r.Settings.Store); path != "" {
		return fmt.Errorf("file %s does not exist", path)
	}
	db, err := store.Connect(ctx, r.Settings.Store)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	st, err := db.Inspect(ctx)
	if err != nil {
		return err
	}
	s := &Store{Version: st.Version, Schema: st.Schema, Known: st.Known}
	if st.Schema < st.Known {
		r.attend("the metadata store is at version %d, but this build needs %d; run \"millrace migrate\"",
			st.Schema, st.Known)
	} else if err := s.count(ctx, db, r.status.At.UnixMilli()); err != nil {
		return err
	}
	r.tell(func(all *Status) { all.Store = s })
	return nil
}

func (s *Store) count(ctx context.Context, db *store.Store, now int64) error {
	quotas, err := db.Quotas(ctx)
	if err != nil {
		return err
	}
	newest := int64(0)
	for i := range quotas {
		newest = max(newest, quotas[i].CountedAt.UnixMilli())
		if quotas[i].Exceeded {
			s.Exceeded++
		}
	}
	if s.Quotas = len(quotas); newest > 0 {
		s.CountedAgo = Seconds(float64(now-newest) / 1000)
	}
	is, err := db.CountErasures(ctx)
	for _, n := range is.Open {
		s.Erasures += n
	}
	return err
}
