package inspect

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
)

// Server is what a server tells of itself.
type Server struct {
	Version string
	// Clock is what its clock showed while it was asked.
	Clock time.Time
	// Disks are none where the user may not read of them.
	Disks []Disk
}

// Disk is where tables are kept.
type Disk struct {
	Name string `json:"name"`
	Free int64  `json:"free_bytes"`
	Size int64  `json:"size_bytes"` // 0 or less for a store without a bound
}

// ReadServer asks the server for what it is.
func ReadServer(ctx context.Context, cfg config.ClickHouse) (s Server, err error) {
	c, err := clickhouse.DialDefault(ctx, cfg)
	if err != nil {
		return s, err
	}
	defer c.Close()
	now, err := clickhouse.Texts(ctx, c, "SELECT concat(toString(toUnixTimestamp64Micro(now64(6))), ' ', version())")
	if err != nil {
		return s, err
	}
	micros, version, _ := strings.Cut(now[0], " ")
	at, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return s, fmt.Errorf("reading the server's clock: %w", err)
	}
	s.Version, s.Clock = version, time.UnixMicro(at)
	if s.Disks, err = disks(ctx, c); ch.IsErr(err, proto.ErrAccessDenied) {
		err = nil
	}
	return s, err
}

func disks(ctx context.Context, c *clickhouse.Client) ([]Disk, error) {
	rows, err := clickhouse.Texts(ctx, c,
		"SELECT concat(toString(unreserved_space), ' ', toString(total_space), ' ', name) FROM system.disks ORDER BY name")
	if err != nil {
		return nil, err
	}
	all := make([]Disk, len(rows))
	for i, row := range rows {
		if _, err := fmt.Sscanf(row, "%d %d %s", &all[i].Free, &all[i].Size, &all[i].Name); err != nil {
			return nil, fmt.Errorf("reading the disks: %w", err)
		}
	}
	return all, nil
}

// TableState is how much a table holds.
type TableState struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	// Parts is how many it has, Crowded the most in one partition of it: the server
	// slows inserts down at 1000, by default, and rejects them at 3000.
	Parts   int `json:"parts"`
	Crowded int `json:"most_parts_in_a_partition"`
}

// TableStates returns the tables of the database that hold anything, by name.
func TableStates(ctx context.Context, cfg config.ClickHouse) ([]TableState, error) {
	c, err := clickhouse.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	rows, err := clickhouse.Texts(ctx, c,
		`SELECT concat(toString(sum(r)), ' ', toString(sum(b)), ' ', toString(sum(n)), ' ', toString(max(n)), ' ', table)
FROM (SELECT table, partition_id, sum(rows) AS r, sum(bytes_on_disk) AS b, count() AS n FROM system.parts
	WHERE database = currentDatabase() AND active GROUP BY table, partition_id)
GROUP BY table ORDER BY table`)
	if err != nil {
		return nil, err
	}
	all := make([]TableState, len(rows))
	for i, row := range rows {
		t := &all[i]
		if _, err := fmt.Sscanf(row, "%d %d %d %d %s", &t.Rows, &t.Bytes, &t.Parts, &t.Crowded, &t.Name); err != nil {
			return nil, fmt.Errorf("reading the tables: %w", err)
		}
	}
	return all, nil
}
