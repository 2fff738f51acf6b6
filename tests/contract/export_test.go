package contract

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	metadata "github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	record "github.com/millrace/millrace/internal/tenant/managed"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// exportClient asks for what is sent as it is, on a connection for each request.
var exportClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}

// widely stores n events whose properties do not become smaller by compression, and
// returns their ids.
func widely(t *testing.T, s *harness.System, n int) (ids []string) {
	t.Helper()
	noise := make([]byte, 8<<10)
	for len(ids) < n {
		var batch []string
		for range 100 {
			rand.Read(noise)
			ids = append(ids, fmt.Sprintf("event %04d", len(ids)))
			batch = append(batch, fmt.Sprintf(
				`{"eventId":%q,"name":"wide","timestamp":"2021-02-03T04:05:06Z","properties":{"noise":%q}}`, ids[len(ids)-1],
				hex.EncodeToString(noise)))
		}
		a, err := harness.Post(t.Context(), s.IngestURL+"/track?website_id="+s.SecondWebsiteID, s.Key,
			[]byte("["+strings.Join(batch, ",")+"]"))
		if err != nil || a.Status != http.StatusOK {
			t.Fatalf("sending events: %v, %+v", err, a)
		}
	}
	return ids
}

// exported asks for rows after a cursor and reads so many bytes of the response before
// it cuts the connection; all of it for 0. A cut export holds its slot for a moment.
func exported(t *testing.T, s *harness.System, format, more string, most int64) (body []byte) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.QueryURL+"/rpc/events/export",
			strings.NewReader(fmt.Sprintf(
				`{"websiteId":%q,"startDate":"2021-02-03","endDate":"2021-02-03","columns":["properties","event_id","cursor"],"format":%q%s}`, s.SecondWebsiteID, format, more,
			)))
		if err != nil {
			return err
		}
		req.Header.Set("X-Api-Key", s.Key)
		req.Header.Set("Content-Type", "application/json")
		resp, err := exportClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s is answered %d", format, resp.StatusCode)
		}
		var from io.Reader = resp.Body
		if most > 0 {
			from = io.LimitReader(resp.Body, most)
		}
		body, err = io.ReadAll(from)
		return err
	})
	return body
}

// whole are the id and the cursor of each row that is there to its end.
var whole = map[string]func(t *testing.T, body []byte) [][2]string{
	"ndjson": func(t *testing.T, body []byte) (rows [][2]string) {
		t.Helper()
		for line := range bytes.Lines(body) {
			var row struct {
				ID     string `json:"event_id"`
				Cursor string `json:"cursor"`
			}
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, [2]string{row.ID, row.Cursor})
		}
		return rows
	},
	"csv": func(t *testing.T, body []byte) (rows [][2]string) {
		t.Helper()
		all, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range all[1:] {
			rows = append(rows, [2]string{row[1], row[2]})
		}
		return rows
	},
}

const exportedRows = 600 // of 16 KiB, which no connection holds by itself

func TestAnExportGoesOnAfterACutConnection(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.InProcess, harness.Options{})
	want := widely(t, s, exportedRows)
	testkit.Eventually(t, time.Minute, func() error {
		stored, err := s.StoredIDsOf(t.Context(), s.SecondWebsiteID)
		if err == nil && len(stored) != len(want) {
			err = fmt.Errorf("%d rows", len(stored))
		}
		return err
	})
	for format, rows := range whole {
		var got []string
		after := ""
		for attempt := 0; len(got) < len(want); attempt++ {
			most := int64(2 << 20)
			if attempt == 2 {
				most = 0
			}
			if attempt > 2 {
				t.Fatalf("%s: %d rows after the whole rest", format, len(got))
			}
			body := exported(t, s, format, after, most)
			for _, row := range rows(t, body[:bytes.LastIndexByte(body, '\n')+1]) {
				got, after = append(got, row[0]), fmt.Sprintf(`,"cursor":%q`, row[1])
			}
		}
		once(t, format, want, got)
	}
	once(t, "parquet", want, inPages(t, s))
	endsWithItsKey(t, s)
}

// endsWithItsKey revokes the key of an export under way, whose client has stopped reading.
func endsWithItsKey(t *testing.T, s *harness.System) {
	t.Helper()
	db, err := metadata.Open(t.Context(), s.StoreURL, metadata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	keys := apikey.NewService(apikey.Config{Prefix: "mlr", Scopes: auth.AllScopes().Strings()}, db, nil)
	key, secret, err := keys.Create(t.Context(), audit.BySystem(), apikey.Spec{
		OrganizationID: s.OrganizationID, Name: "export", Scopes: []string{string(auth.ScopeReadData)},
	})
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"websiteId":%q,"startDate":"2021-02-03","endDate":"2021-02-03","format":"ndjson"}`,
		s.SecondWebsiteID)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.QueryURL+"/rpc/events/export",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", secret)
	resp, err := exportClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 64<<10)); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the export answers %d, %v", resp.StatusCode, err)
	}
	target := record.Target{OrganizationID: s.OrganizationID, Ref: key.ID}
	if _, err := keys.Revoke(t.Context(), audit.BySystem(), target); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, testkit.Promised(2*time.Second), func() error { // it is audited when it has ended
		entries, err := db.AuditEntries(t.Context(), audit.Filter{
			OrganizationID: s.OrganizationID, ActorID: key.ID, Action: "events.exported",
		})
		if err == nil && len(entries) != 1 {
			err = errors.New("the export goes on")
		}
		return err
	})
	if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the rest of the export ended with %v", err)
	}
}

// inPages exports Parquet in pages, each of which is cut off at first: it cannot be
// read then, and is asked for again.
func inPages(t *testing.T, s *harness.System) (got []string) {
	t.Helper()
	const page = `,"limit":250`
	for after := page; after != ""; {
		if body := exported(t, s, "parquet", after, 256<<10); len(body) < 256<<10 {
			t.Fatalf("a page of %d bytes was not cut", len(body))
		} else if _, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body))); err == nil {
			t.Fatal("half a file is read as one")
		}
		body := exported(t, s, "parquet", after, 0)
		file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := parquet.Read[struct {
			ID string `parquet:"event_id,optional"`
		}](bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			got = append(got, row.ID)
		}
		after = ""
		if next, _ := file.Lookup("millrace.next_cursor"); next != "" {
			after = page + fmt.Sprintf(`,"cursor":%q`, next)
		}
	}
	return got
}

func once(t *testing.T, format string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("%s has not each row once (-want +got):\n%s", format, diff)
	}
}
