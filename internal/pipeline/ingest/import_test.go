package ingest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/record"
)

// importOf makes an Import of texts.
func importOf(key, websiteID string, events ...string) Import {
	in := Import{
		Key: []byte(key), WebsiteID: []byte(websiteID), ID: []byte("import-1"),
		DefaultTime: noon.AddDate(-1, 0, 0).UnixMilli(),
		AppendID:    func(dst []byte, i int) []byte { return fmt.Appendf(dst, "line-%d", i) },
	}
	for _, e := range events {
		in.Events = append(in.Events, []byte(e))
	}
	return in
}

// try imports, and returns what was rejected as "index code".
func (w *world) try(t *testing.T, in Import) (accepted int, rejected []string, err error) {
	t.Helper()
	accepted, err = w.acceptor().Import(t.Context(), in, func(i int, why *apierr.Error) {
		rejected = append(rejected, fmt.Sprintf("%d %s", i, why.Code))
	})
	return accepted, rejected, err
}

func TestAnImportedEventStandsForItself(t *testing.T) {
	t.Parallel()
	w := &world{}
	accepted, rejected, err := w.try(t, importOf("global", "client-1",
		`{"name":"a","eventId":"own"}`,
		`{"name":""}`,
		`{"name":"b"},{"name":"c"}`,
		`[{"name":"c"}]`,
		`{"name":"d","websiteId":"web_2","timestamp":1000000000000}`,
		`{"name":"e","websiteId":"web_3"}`,
		`{"name":"f","properties":{"k":"`+strings.Repeat("x", 32<<10)+`"}}`,
		`{"name":"g","anonymousId":"v"}`,
	))
	if err != nil || accepted != 3 {
		t.Fatalf("%d were accepted, %v", accepted, err)
	}
	want := []string{
		"1 " + string(apierr.Validation), "2 " + string(apierr.Validation), "3 " + string(apierr.Validation),
		"5 " + string(apierr.WebsiteNotFound), "6 " + string(apierr.PayloadTooLarge),
	}
	if diff := cmp.Diff(want, rejected); diff != "" {
		t.Error(diff)
	}
	type got struct {
		Topic, Owner, ID, Name string
		Time                   int64
		Generated              bool
	}
	var decoder record.Decoder
	var all []got
	for _, r := range w.published {
		var e record.Event
		if err := decoder.DecodeEvent(r.Value, &e); err != nil {
			t.Fatal(err)
		}
		if !r.Time.Equal(noon) || e.ReceivedAt != noon.UnixMilli() || string(e.AnonymousID) == "v" {
			t.Errorf("the record is %s at %s", r.Value, r.Time)
		}
		all = append(all, got{r.Topic, string(r.Key), string(e.ID), string(e.Name), e.TimeMillis, e.IDGenerated})
	}
	year := noon.AddDate(-1, 0, 0).UnixMilli()
	if diff := cmp.Diff([]got{
		{record.TopicEventsBackfill, "web_1", "own", "a", year, false},
		{record.TopicEventsBackfill, "web_2", "line-4", "d", 1_000_000_000_000, false},
		{record.TopicEventsBackfill, "web_1", "line-7", "g", year, false},
	}, all); diff != "" {
		t.Error(diff)
	}
}

func TestAnEventOfTodayIsImportedIntoTheBackfillTopicToo(t *testing.T) {
	t.Parallel()
	w := &world{}
	if n, _, err := w.try(t,
		importOf("limited", "", fmt.Sprintf(`{"name":"a","timestamp":%d}`, noon.UnixMilli()))); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if w.published[0].Topic != record.TopicEventsBackfill || string(w.published[0].Key) != "web_1" {
		t.Errorf("the record is for %s in %s", w.published[0].Key, w.published[0].Topic)
	}
}

func TestAKeyLimitedToOneWebsiteImportsForNoOther(t *testing.T) {
	t.Parallel()
	w := &world{}
	n, rejected, err := w.try(t,
		importOf("limited", "", `{"name":"a","websiteId":"web_2"}`, `{"name":"b","websiteId":"client-1"}`))
	if n != 1 || err != nil || !cmp.Equal(rejected, []string{"0 " + string(apierr.AccessDenied)}) {
		t.Errorf("%d were accepted, refused were %v, %v", n, rejected, err)
	}
}

func TestWhatConcernsTheWholeImportEndsIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		key, websiteID string
		world          world
		want           apierr.Code
	}{
		"no key":                     {"", "client-1", world{}, apierr.AuthRequired},
		"a forged key":               {"forged", "", world{}, apierr.AuthRequired},
		"a key that cannot be read":  {"down", "", world{}, apierr.ServiceUnavailable},
		"no scope":                   {"readonly", "", world{}, apierr.Forbidden},
		"an unknown default":         {"global", "unknown", world{}, apierr.WebsiteNotFound},
		"somebody else's default":    {"global", "web_3", world{}, apierr.WebsiteNotFound},
		"a default beyond the limit": {"limited", "web_2", world{}, apierr.AccessDenied},
		"no salt":                    {"global", "", world{saltErr: errDown}, apierr.ServiceUnavailable},
		"no acknowledgement":         {"global", "", world{publishErr: errors.New("late")}, apierr.DeliveryUnavailable},
	} {
		n, rejected, err := tt.world.try(t, importOf(tt.key, tt.websiteID, `{"name":"a"}`))
		if n != 0 || len(rejected) > 0 || !apierr.Is(err, tt.want) || len(tt.world.published) > 0 {
			t.Errorf("%s: %d accepted, refused %v, %v; want %s", name, n, rejected, err, tt.want)
		}
	}
}

func TestADryImportPublishesNothing(t *testing.T) {
	t.Parallel()
	w := &world{}
	in := importOf("global", "", `{"name":"a"}`, `{}`)
	in.DryRun = true
	if n, rejected, err := w.try(t, in); n != 1 || len(rejected) != 1 || err != nil || len(w.published) > 0 {
		t.Errorf("%d accepted, refused %v, %v, published %d", n, rejected, err, len(w.published))
	}
}
