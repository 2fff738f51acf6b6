package schema

import (
	"context"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
	schemas "github.com/millrace/millrace/schemas/clickhouse"
)

// State says how a database's migrations stand to those of this build.
type State struct {
	Applied int `json:"applied"`
	Known   int `json:"known"`
	// Newer are applied ones that this build does not know.
	Newer int `json:"newer"`
}

// ReadState returns how far the database is migrated.
func ReadState(ctx context.Context, cfg config.ClickHouse) (s State, err error) {
	want, err := migrations(schemas.Files)
	if err != nil {
		return s, err
	}
	s.Known = len(want)
	if err := checkDatabase(ctx, cfg); err != nil {
		return s, err
	}
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return s, err
	}
	defer c.Close()
	have, err := applied(ctx, c)
	for version := range have {
		s.Applied++
		if int(version) > s.Known {
			s.Newer++
		}
	}
	return s, err
}
