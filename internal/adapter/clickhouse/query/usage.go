package query

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// Usage reads what organizations have sent. It implements quota.Meter and
// quota.UsageStore. On a cluster any replica answers; one that is behind has counted
// too little.
type Usage struct{ *clickhouse.Pool }

// NewUsage returns a Usage for the servers of cfg; it opens no connection.
func NewUsage(cfg config.ClickHouse) *Usage { return &Usage{clickhouse.NewPool(cfg)} }

const inMonth = "day >= {from:Date} AND day < {to:Date}"

func monthParameters(m quota.Month) []proto.Parameter {
	start, end := m.Bounds()
	return []proto.Parameter{
		clickhouse.StringParameter("from", start.Format(time.DateOnly)),
		clickhouse.StringParameter("to", end.Format(time.DateOnly)),
	}
}

// Used implements quota.Meter.
func (u *Usage) Used(ctx context.Context, month quota.Month) (map[string]int64, error) {
	var organizations proto.ColStr
	var events proto.ColUInt64
	used := map[string]int64{}
	err := u.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "SELECT CAST(organization_id, 'String') AS organization, sum(events) AS n FROM usage_1d\n" +
				"WHERE " + inMonth + " GROUP BY organization",
			Parameters: monthParameters(month),
			Result:     proto.Results{{Name: "organization", Data: &organizations}, {Name: "n", Data: &events}},
			OnResult: func(context.Context, proto.Block) error {
				for i := range events {
					used[organizations.Row(i)] = int64(events[i])
				}
				return nil
			},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("counting the events of %s: %w", month, err)
	}
	return used, nil
}

// Cells implements quota.UsageStore.
func (u *Usage) Cells(ctx context.Context, organizationID, ownerID string, month quota.Month) ([]quota.Cell, error) {
	var owners proto.ColStr
	var days proto.ColDate
	var events proto.ColUInt64
	var cells []quota.Cell
	err := u.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: "SELECT CAST(owner_id, 'String') AS owner, day, sum(events) AS n FROM usage_1d\n" +
				"WHERE organization_id = {organization:String} AND ({owner:String} = '' OR owner_id = {owner:String}) AND " +
				inMonth +
				"\nGROUP BY owner, day ORDER BY owner, day",
			Parameters: append(monthParameters(month), clickhouse.TextParameter("organization", organizationID),
				clickhouse.TextParameter("owner", ownerID)),
			Result: proto.Results{{Name: "owner", Data: &owners}, {Name: "day", Data: &days}, {Name: "n", Data: &events}},
			OnResult: func(context.Context, proto.Block) error {
				for i := range events {
					cells = append(cells, quota.Cell{OwnerID: owners.Row(i), Day: days[i].Time().UTC(), Events: int64(events[i])})
				}
				return nil
			},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading the usage of %s in %s: %w", organizationID, month, err)
	}
	return cells, nil
}
