package query

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/resource/link"
)

// LinkClicks counts the clicks of links. It implements management.ClickCounter. On a
// cluster any replica answers.
type LinkClicks struct{ *clickhouse.Pool }

// NewLinkClicks returns LinkClicks for the servers of cfg; it opens no connection.
func NewLinkClicks(cfg config.ClickHouse) *LinkClicks { return &LinkClicks{clickhouse.NewPool(cfg)} }

// clicksOfLinks reads the rollup, and of the days that it cannot answer for the clicks.
const clicksOfLinks = `WITH dirty AS (SELECT CAST(owner_id, 'String') AS owner, event_date FROM rollup_dirty FINAL WHERE cleared = 0 AND owner_id IN (SELECT id FROM asked_links))
SELECT link, sum(n) AS clicks, CAST(max(last_click), 'DateTime64(3, \'UTC\')') AS last FROM (
    SELECT owner_id AS link, sum(clicks) AS n, max(last) AS last_click FROM clicks_1d
    WHERE dimension = 'target' AND owner_id IN (SELECT id FROM asked_links) AND (owner_id, event_date) NOT IN (SELECT owner, event_date FROM dirty)
    GROUP BY owner_id
    UNION ALL
    SELECT link_id AS link, countIf(is_bot = 0) AS n, maxIf(event_time, is_bot = 0) AS last_click FROM clicks FINAL
    WHERE (link_id, event_date) IN (SELECT owner, event_date FROM dirty)
    GROUP BY link_id
) GROUP BY link`

// LinkClicks implements management.ClickCounter.
func (l *LinkClicks) LinkClicks(ctx context.Context, ids []string) (map[string]link.Clicks, error) {
	var asked, links proto.ColStr
	asked.AppendArr(ids)
	var counts proto.ColUInt64
	last := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMilli).WithLocation(time.UTC)
	found := make(map[string]link.Clicks, len(ids))
	err := l.Use(ctx, func(c *clickhouse.Client) error {
		return c.Do(ctx, ch.Query{
			Body: clicksOfLinks, ExternalTable: "asked_links", ExternalData: []proto.InputColumn{{Name: "id", Data: &asked}},
			Result: proto.Results{{Name: "link", Data: &links}, {Name: "clicks", Data: &counts}, {Name: "last", Data: last}},
			OnResult: func(context.Context, proto.Block) error {
				for i, n := range counts {
					if n > 0 {
						found[links.Row(i)] = link.Clicks{Count: int64(n), Last: last.Row(i)}
					}
				}
				return nil
			},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("counting the clicks of %d links: %w", len(ids), err)
	}
	return found, nil
}
