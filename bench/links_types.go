package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/analytics"
)

// L5 asks about a link of so many clicks in the last days, each question so often.
const (
	clicksL5    = 10_000_000
	daysL5      = 30
	responsesL5 = 40
	allowedL5   = 150 // milliseconds
)

// What it asks about: the last days, in time zones whose days are those of the rollups
// and are not.
var (
	lengthsL5 = []int{7, daysL5, 90}
	zonesL5   = []string{"UTC", "Europe/Berlin"}
)

// fillClicks makes them: of 100,000 visitors a day, of 120 countries, 1,200
// regions and 12,000 cities, one in ten a program.
const fillClicks = `INSERT INTO clicks (link_id, organization_id, event_date, event_time, received_at, received_at_inv, click_key, click_id, visitor, country, region, city,
    device, browser, referrer_host, referrer_name, rule_id, variant_id, is_qr, is_bot, status)
SELECT '%[1]s', 'bench', toDate(at), at, at, number, cityHash64(number), toString(number), hex(sipHash128(toDate(at), cityHash64(number, 1) %% 100000)),
    char(65 + place %% 10, 65 + intDiv(place, 10) %% 12), 'Region ' || toString(place %% 1200), 'City ' || toString(place),
    ['mobile', 'desktop', 'tablet'][1 + number %% 3], ['Chrome', 'Safari', 'Firefox', 'Edge', ''][1 + number %% 5],
    if(number %% 4 = 0, '', 'site' || toString(number %% 400) || '.example'), '', if(number %% 2 = 0, 'rul_1', ''), 'var_' || toString(number %% 3), number %% 7 = 0, number %% 10 = 0, 302
FROM (SELECT number, toDateTime64('%[2]s 00:00:00', 3, 'UTC') + toIntervalSecond(cityHash64(number, 2) %% %[4]d) AS at, toUInt64(pow(12000, (cityHash64(number, 3) %% 1000000) / 1000000)) - 1 AS place
    FROM numbers(%[3]d))`

// askTypes asks a product of its own every type about links, alone and fresh.
func askTypes(ctx context.Context, _ *measure, _ *surroundings) (r result, err error) {
	folder, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(folder)
	st, err := startStack(ctx, folder)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, st.end()) }()
	until := time.Now().UTC().Truncate(24 * time.Hour)
	a := &asker{stack: st, from: until.AddDate(0, 0, -daysL5), until: until}
	if a.link, err = a.makeLink(ctx); err == nil {
		err = a.fillLink(ctx)
	}
	if err != nil {
		return result{}, err
	}
	begin := time.Now()
	for _, zone := range zonesL5 {
		for _, days := range lengthsL5 {
			if err := a.eachLinkType(ctx, zone, days, &r); err != nil {
				return result{}, err
			}
		}
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// eachLinkType asks every type about the last days of a link.
func (a *asker) eachLinkType(ctx context.Context, zone string, days int, r *result) error {
	for i := range analytics.Catalog {
		t := &analytics.Catalog[i]
		if t.Subjects != analytics.Link {
			continue
		}
		body := fmt.Sprintf(`{"parameters":[%q],"startDate":%q,"endDate":%q,"timeZone":%q}`,
			t.Name, a.until.AddDate(0, 0, -days).Format(time.DateOnly), a.last(), zone)
		before, err := a.stack.cpuSeconds()
		if err != nil {
			return err
		}
		took, err := alternate(0, responsesL5, func() error { _, err := a.ask(ctx, body, true); return err })
		if err != nil {
			return err
		}
		after, err := a.stack.cpuSeconds()
		if err != nil {
			return err
		}
		r.asked(fmt.Sprintf("%#q over %d days of %s", t.Name, days, zone), took[0], after-before)
	}
	return nil
}

// asked adds responses to a question and what they cost, and remembers the slowest.
func (r *result) asked(about string, took times, cpu float64) {
	p50, p95, each := took.at(0.5), took.at(0.95), 1000*cpu/float64(1+len(took)) // one was not timed
	told := fmt.Sprintf("%s: p50 %.1f ms, p95 %.1f ms, %.1f ms of processor time each, load average %s",
		about, p50, p95, each, loadAverage())
	fmt.Fprintln(os.Stderr, told)
	r.Events += float64(len(took))
	r.CPUSeconds += cpu
	if p95 > r.SlowestP95 {
		r.SlowestP95, r.Slowest = p95, told
	}
}

// fillLink stores the clicks of a link, as merges leave them.
func (a *asker) fillLink(ctx context.Context) error {
	statements := []string{fmt.Sprintf(fillClicks, a.link, a.from.Format(time.DateOnly), clicksL5, daysL5*24*60*60)}
	for _, table := range []string{"clicks", "clicks_15m", "clicks_1d"} {
		statements = append(statements, "OPTIMIZE TABLE "+table+" FINAL")
	}
	return execute(ctx, a.stack.clickhouse, statements...)
}

// makeLink makes the link.
func (a *asker) makeLink(ctx context.Context) (id string, err error) {
	const body = `{"externalId":"bench","url":"https://example.com/"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.stack.Query+"/rpc/links/upsert",
		strings.NewReader(body))
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
	var response struct {
		Data struct{ ID string } `json:"data"`
	}
	var text bytes.Buffer
	if _, err = text.ReadFrom(resp.Body); err == nil {
		err = json.Unmarshal(text.Bytes(), &response)
	}
	if err == nil && response.Data.ID == "" {
		err = fmt.Errorf("making a link: %d %s", resp.StatusCode, text.Bytes())
	}
	return response.Data.ID, err
}
