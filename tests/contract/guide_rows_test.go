package contract

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/insert"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/sink"
	"github.com/millrace/millrace/tests/harness"
)

// clicksAndExposures stores what the guide to queries shows of a short link and of a flag,
// at times at which the guide's other examples do not look.
func clicksAndExposures(t *testing.T, s *harness.System, website string) []string {
	t.Helper()
	link := call[managed](t, s, "links/create", `{"url":"https://shop.example/sale"}`)
	rows := &guideRows{organization: s.OrganizationID, link: link.ID, website: website}
	inserter := insert.NewInserter(s.ClickHouse, "")
	defer inserter.Close()
	for _, block := range []struct {
		topic string
		rows  []*sink.Row
	}{
		{record.TopicClicks, []*sink.Row{
			rows.click("2026-03-28T09:00:00Z", "a", "AT"), rows.click("2026-03-28T09:20:00Z", "a", "AT"),
			rows.click("2026-03-29T11:30:00Z", "b", "DE"), rows.click("2026-03-29T12:00:00Z", "", ""),
		}},
		{record.TopicExposures, []*sink.Row{
			rows.exposure("2026-02-10T09:00:00Z", "one-page", "user-1"),
			rows.exposure("2026-02-10T10:00:00Z", "one-page", "user-2"),
			rows.exposure("2026-02-10T11:00:00Z", "classic", "user-3"),
			rows.exposure("2026-02-10T12:00:00Z", "classic", "user-4"),
			rows.exposure("2026-02-11T12:00:00Z", "one-page", "user-4"),
		}},
		{record.TopicEvents, []*sink.Row{
			rows.purchase("2026-02-11T09:00:00Z", "user-1"), rows.purchase("2026-02-11T13:00:00Z", "user-4"),
		}},
	} {
		b := inserter.NewBlock(block.topic)
		for _, row := range block.rows {
			b.Append(row)
		}
		if err := inserter.Insert(t.Context(), b, "guide "+block.topic); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"LINK_ID=" + rows.link}
}

// guideRows makes rows as the sink stores them.
type guideRows struct {
	organization, link, website string
	n                           int
}

func (g *guideRows) row(topic, kind, name, owner, at string) *sink.Row {
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err) //nolint:forbidigo // a mistake in this file
	}
	g.n++
	id, millis := []byte("guide-"+strconv.Itoa(g.n)), when.UnixMilli()
	return &sink.Row{Topic: []byte(topic), Hash: record.HashOf([]byte(owner), id), Event: &record.Event{
		ID: id, Organization: []byte(g.organization), Owner: []byte(owner), Type: []byte(kind), Name: []byte(name),
		TimeMillis: millis, ReceivedAt: millis,
	}}
}

// click is one from a country; that of no visitor is a bot's.
func (g *guideRows) click(at, visitor, country string) *sink.Row {
	row := g.row(record.TopicClicks, record.TypeClick, record.TypeClick, g.link, at)
	row.Event.Web = new(record.Web)
	row.Event.Web.Texts[record.Country] = []byte(country)
	row.Event.Click = &record.Click{
		Link: []byte(g.link), Visitor: []byte(visitor), IsBot: visitor == "", Status: http.StatusFound,
	}
	return row
}

func (g *guideRows) exposure(at, variant, user string) *sink.Row {
	row := g.row(record.TopicExposures, record.TypeExposure, "checkout", g.website, at)
	row.Event.Website, row.Event.ProfileID = []byte(g.website), []byte(user)
	row.Event.Exposure = &record.Exposure{Variant: []byte(variant), Sample: 100}
	return row
}

func (g *guideRows) purchase(at, user string) *sink.Row {
	row := g.row(record.TopicEvents, record.TypeCustom, "purchase", g.website, at)
	row.Event.Website, row.Event.ProfileID = []byte(g.website), []byte(user)
	return row
}
