package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/clickhouse"
)

// L5 asks about a link of so many clicks, in the range of the other questions.
const (
	clicksL5   = 10_000_000
	uncachedL5 = 150 // milliseconds
)

// fillClicks makes them: of 100,000 visitors a day, of 120 countries, 1,200
// regions and 12,000 cities, one in ten a program. They are as merges leave them.
const fillClicks = `INSERT INTO clicks (link_id, organization_id, event_date, event_time, received_at, received_at_inv, click_key, click_id, visitor, country, region, city,
    device, browser, referrer_host, referrer_name, rule_id, variant_id, is_qr, is_bot, status)
SELECT '%[1]s', 'bench', toDate(at), at, at, number, cityHash64(number), toString(number), hex(sipHash128(toDate(at), cityHash64(number, 1) %% 100000)),
    char(65 + place %% 10, 65 + intDiv(place, 10) %% 12), 'Region ' || toString(place %% 1200), 'City ' || toString(place),
    ['mobile', 'desktop', 'tablet'][1 + number %% 3], ['Chrome', 'Safari', 'Firefox', 'Edge', ''][1 + number %% 5],
    if(number %% 4 = 0, '', 'site' || toString(number %% 400) || '.example'), '', if(number %% 2 = 0, 'rul_1', ''), 'var_' || toString(number %% 3), number %% 7 = 0, number %% 10 = 0, 302
FROM (SELECT number, toDateTime64('%[2]s 00:00:00', 3, 'UTC') + toIntervalSecond(cityHash64(number, 2) %% 2592000) AS at, toUInt64(pow(12000, (cityHash64(number, 3) %% 1000000) / 1000000)) - 1 AS place
    FROM numbers(%[3]d))`

// links is L5: every type about links, alone and fresh.
func (f *queryFigures) links(ctx context.Context, a *asker, conn *clickhouse.Client) error {
	link, err := a.makeLink(ctx)
	if err == nil {
		err = f.fillLink(ctx, a, conn, link)
	}
	if err != nil {
		return err
	}
	of := *a
	of.link = link
	worst, about := 0.0, ""
	for i := range analytics.Catalog {
		t := &analytics.Catalog[i]
		if t.Subjects != analytics.Link {
			continue
		}
		took, err := alternate(f.run, 40, func() error { _, err := of.ask(ctx, of.body(t.Name), true); return err })
		if err != nil {
			return err
		}
		p50, p95 := took[0].at(0.5), took[0].at(0.95)
		fmt.Fprintf(os.Stderr, "%-26s %9.2f ms, p95 %9.2f ms\n", t.Name, p50, p95)
		f.notes = append(f.notes, fmt.Sprintf("L5 %#q: p50 %.2f ms, p95 %.2f ms of %d answers.", t.Name, p50, p95, len(took[0])))
		if p95 > worst {
			worst, about = p95, t.Name
		}
	}
	f.gate(gate{"L5", fmt.Sprintf("each type about a link of %d clicks in 30 days, p95 of fresh answers; the furthest is %#q", clicksL5, about), worst, uncachedL5, "ms", false})
	return nil
}

// fillLink stores the clicks of a link, unless an earlier run has.
func (f *queryFigures) fillLink(ctx context.Context, a *asker, conn *clickhouse.Client, link string) error {
	var n proto.ColUInt64
	if err := conn.Do(ctx, ch.Query{
		Body: "SELECT count() AS n FROM clicks WHERE link_id = {link:String} AND event_date BETWEEN {from:Date} AND {last:Date}", Result: proto.Results{{Name: "n", Data: &n}},
		Parameters: ch.Parameters(map[string]any{"link": link, "from": a.from.Format(time.DateOnly), "last": a.last()}),
	}); err != nil {
		return fmt.Errorf("counting clicks: %w", err)
	}
	if n.Rows() == 1 && n[0] == clicksL5 {
		return nil
	}
	statements := []string{fmt.Sprintf(fillClicks, link, a.from.Format(time.DateOnly), clicksL5)}
	for _, table := range []string{"clicks", "clicks_15m", "clicks_1d"} {
		statements = append(statements, "OPTIMIZE TABLE "+table+" FINAL")
	}
	return execute(ctx, a.stack.clickhouse, statements...)
}

// makeLink makes a link, or finds the one of an earlier run.
func (a *asker) makeLink(ctx context.Context) (id string, err error) {
	const body = `{"externalId":"bench","url":"https://example.com/"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.stack.Query+"/rpc/links/upsert", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("X-Api-Key", a.stack.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct{ ID string } `json:"data"`
	}
	var text bytes.Buffer
	if _, err = text.ReadFrom(resp.Body); err == nil {
		err = json.Unmarshal(text.Bytes(), &answer)
	}
	if err == nil && answer.Data.ID == "" {
		err = fmt.Errorf("making a link: %d %s", resp.StatusCode, text.Bytes())
	}
	return answer.Data.ID, err
}
