package privacy_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
	"github.com/millrace/millrace/internal/adapter/clickhouse/schema"
	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/harness"
)

// What no log, trace, topic, dead letter or table may hold, nor Redis. The agent is a real
// browser's with a word at its end that no browser has.
const (
	probe = "PrivacyProbe"
	agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 " +
		probe + "/7.31"
	addressV4 = "203.0.113.77"
	addressV6 = "2001:db8:77::dead:beef"
	peer      = "127.77.31.7" // of the loopback, from where no proxy is trusted
)

var secrets = []string{probe, addressV4, addressV6, "2001:0db8:0077", "dead:beef", peer, person}

// directly makes connections of the peer.
var directly = &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(peer)}, Timeout: time.Minute}

// collector takes traces as an OTLP endpoint does.
type collector struct {
	mu    sync.Mutex
	spans bytes.Buffer
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.Copy(&c.spans, body)
}

func (c *collector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans.String()
}

// system is the whole product in one process that says as much as it can, and counts
// its callers in a Redis.
func system(t *testing.T) (s *harness.System, traces *collector, redisURL string) {
	t.Helper()
	redisURL = services.Redis(t)
	c := &collector{}
	endpoint := httptest.NewServer(c)
	t.Cleanup(endpoint.Close)
	return harness.New(t, harness.Standalone, harness.Options{Settings: map[string]string{
		"PROXY_TRUSTED": "127.0.0.1,::1", "LOG_LEVEL": "debug", "LOG_ACCESS": "true",
		"TRACE_ENDPOINT": endpoint.URL, "TRACE_RATIO": "1", "SINK_TOMBSTONE_AGE": "100ms", "SINK_INSERT_TIMEOUT": "3s",
		"REDIS_URL": redisURL,
	}}), c, redisURL
}

// bodies are good ones by path, of a visitor with a profile.
func bodies(visitor, profile string) map[string]string {
	now := time.Now().UnixMilli()
	who := fmt.Sprintf(`"anonymousId":%q,"anonymizeVisitorIds":false,"sessionId":"session of %s"`, visitor, visitor)
	page := fmt.Sprintf(`"timestamp":%d,"path":"https://shop.example.com/a",%s`, now, who)
	view := fmt.Sprintf(`{"eventId":"view %%d of %s","name":"screen_view",%s,"title":"a"}`, visitor, page)
	return map[string]string{
		"/track": fmt.Sprintf(
			`[{"name":"signup","eventId":"raw %[1]s","profileId":%[2]q,%[3]s},{"name":"signup","eventId":"bare %[1]s",%[3]s},`+
				`{"name":"signup","eventId":"hashed %[1]s","anonymousId":%[1]q}]`, visitor, profile, who),
		"/identify": fmt.Sprintf(`{"profileId":%q,"anonymousId":%q,"anonymizeVisitorIds":false,"traits":{"called":%q}}`,
			profile, visitor, profile),
		"/vitals":     fmt.Sprintf(`[{"metricName":"LCP","metricValue":1200,%s}]`, page),
		"/errors":     fmt.Sprintf(`[{"message":"boom","errorType":"TypeError",%s}]`, page),
		"/engagement": fmt.Sprintf(`[{"timeOnPage":12,%s}]`, page),
		"/":           fmt.Sprintf(view, 1),
		"/batch": "[" + fmt.Sprintf(view, 2) + "," + fmt.Sprintf(
			`{"type":"outgoing_link","eventId":"link of %s","href":"https://else.example/",%s}`, visitor, page) + "]",
	}
}

// pixels are queries of the pixel, of every type that it has.
func pixels(visitor string) []string {
	who := url.Values{
		"anonymousId": {visitor}, "anonymizeVisitorIds": {"false"},
		"timestamp": {strconv.FormatInt(time.Now().UnixMilli(), 10)},
		"path":      {"https://shop.example.com/mail"},
	}.Encode()
	return []string{
		who + "&name=screen_view", who + "&type=track&name=opened",
		who + "&type=outgoing_link&href=https%3A%2F%2Felse.example%2F",
		who + "&type=web_vitals&metricName=CLS&metricValue=0.5", who + "&type=error&message=boom",
	}
}

// send makes a request as a visitor's browser does through a proxy, and returns the
// status of its response.
func send(t *testing.T, method, url, key, address, body string, signals ...string) int {
	t.Helper()
	return sendBy(t, harness.Client, method, url, key, address, body, signals...)
}

func sendBy(t *testing.T, client *http.Client, method, url, key, address, body string, signals ...string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", agent)
	if address != "" {
		req.Header.Set("X-Forwarded-For", address)
		req.Header.Set("Forwarded", `for="[`+address+`]"`)
		req.Header.Set("X-Real-Ip", address)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, name := range signals {
		req.Header.Set(name, "1")
	}
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	response, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	discreet(t, method+" "+url, string(response))
	return resp.StatusCode
}

// discreet checks that a response tells nothing of the visitor.
func discreet(t *testing.T, what, response string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(response, secret) {
			t.Errorf("%s answers %s", what, response)
		}
	}
}

// Nor gets what is said of a person, for whom flags are evaluated, any further than the query
// host, but for a hash of the e-mail address where the flag counts exposures.
func TestAVisitorsAddressAndUserAgentEndAtTheEdge(t *testing.T) {
	t.Parallel()
	s, traces, redisURL := system(t)
	everyRoute(t, s)
	fromPeer(t, s)
	sendMalformed(t, s)
	counts := inRedis(t, redisURL) // before they expire
	flagged(t, s)
	counts += inRedis(t, redisURL)
	exposed(t, s)
	awaitStored(t, s, "browser-b")
	joined(t, s)
	writeDeadLetters(t, s)

	testkit.Eventually(t, time.Minute, func() error {
		if !strings.Contains(traces.text(), "/public/v1/flags/stream") { // which was asked for last
			return errors.New("not all traces were sent yet")
		}
		return nil
	})
	// Each text has to show something of the requests, or the search shows nothing.
	look := func(where, text, shows string) {
		t.Helper()
		if !strings.Contains(text, shows) {
			t.Errorf("%s does not show %q", where, shows)
		}
		for _, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s: …%s…", where, text[max(0, at-200):min(len(text), at+100)])
			}
		}
	}
	log := s.Process(harness.Edge).Log()
	look("the log", log, "/track")
	look("the log", log, "/public/v1/flags/:clientId/ofrep")
	if !strings.Contains(log, "connection error") {
		t.Error("the log does not show what could not be read")
	}
	look("a trace", traces.text(), "/track")
	look("a trace", traces.text(), "/public/v1/flags/evaluate")
	look("Redis", counts, "client:"+s.WebsiteID)
	for _, info := range kafka.Topics {
		shows := ""
		of := strings.TrimSuffix(info.Name, kafka.DeadLetterSuffix)
		if info.Name == record.TopicExposures || slices.Contains(written(), of) {
			shows = s.WebsiteID
		}
		look("topic "+info.Name, topic(t, s, info.Name), shows)
	}
	if len(found(t, s.ClickHouse, "browser-b")) == 0 {
		t.Error("the tables show nothing")
	}
	if places := found(t, s.ClickHouse, secrets...); len(places) > 0 {
		t.Errorf("tables:\n%s", strings.Join(places, "\n"))
	}
	look("the metadata store", files(t, filepath.Dir(strings.TrimPrefix(s.StoreURL, "sqlite:"))), s.WebsiteID)

	declined(t, s)
	erased(t, s)
}

// fromPeer sends good and bad requests to all routes without a proxy, also such as claim
// to come through one.
func fromPeer(t *testing.T, s *harness.System) {
	t.Helper()
	transport := &http.Transport{DialContext: directly.DialContext}
	defer transport.CloseIdleConnections()
	client, good := &http.Client{Transport: transport}, bodies("browser-f", "fritz")
	for _, route := range ingestapi.Routes {
		url := s.IngestURL + strings.ReplaceAll(route.Path, ":hash", "0000") + "?client_id=" + s.ClientID
		for _, claimed := range []string{"", addressV4} {
			if status := sendBy(t, client, route.Method, url, "", claimed, good[route.Path]); good[route.Path] != "" &&
				status != http.StatusOK {
				t.Errorf("%s %s: %d", route.Method, route.Path, status)
			}
			sendBy(t, client, route.Method, url, "", claimed, "no json")
		}
	}
}

// sendMalformed sends what is no HTTP, or not quite.
func sendMalformed(t *testing.T, s *harness.System) {
	t.Helper()
	who := "User-Agent: " + agent + "\r\nX-Forwarded-For: " + addressV4 + "\r\n"
	post := "POST /track?client_id=" + s.ClientID + " HTTP/1.1\r\nHost: in.example\r\n"
	for _, text := range []string{
		agent + " " + addressV6 + "\r\n\r\n",
		"POST /track HTTP/9.9\r\nHost: in.example\r\n" + who + "\r\n",
		post + who + agent + " " + addressV4 + "\r\n\r\n",
		post + who + "Content-Length: " + addressV4 + "\r\n\r\n",
		post + who + "Transfer-Encoding: chunked\r\n\r\n" + probe + "\r\n",
		post + who + "Content-Length: 100\r\n\r\n{",
		post + who + strings.Repeat("X-Long: "+agent+"\r\n", 1000) + "\r\n",
		post + who,
	} {
		conn, err := directly.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.IngestURL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		// Whoever is rejected may find the connection closed in the middle.
		_, _ = io.WriteString(conn, text)
		if half, ok := conn.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
		response, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("no end to the answer to %.80q", text)
		}
		discreet(t, fmt.Sprintf("%.80q", text), string(response))
		conn.Close()
	}
}

// written are the topics to which routes write.
func written() (topics []string) {
	for _, r := range ingestapi.Routes {
		if r.Topic != "" && !slices.Contains(topics, r.Topic) {
			topics = append(topics, r.Topic)
		}
	}
	return topics
}

var happened = regexp.MustCompile(`"ts":\d+`)

// writeDeadLetters gives the sink two records of each topic that it cannot store, as an edge with
// a mistake would write them: what it has written of a visitor, cut off, and with a time
// that no edge accepts.
func writeDeadLetters(t *testing.T, s *harness.System) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	producer, err := kafka.NewProducer(s.Kafka,
		kafka.ProducerDeps{Client: "test", Deadline: time.Minute, Log: log, Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close(context.WithoutCancel(t.Context()))
	var bad []record.Record
	for _, name := range written() {
		before := len(bad)
		if err := kafka.NewLog(s.Kafka, log).Read(t.Context(), name, time.Time{},
			func(r *record.Record, _ record.Position) error {
				if len(bad) == before && bytes.Contains(r.Value, []byte(`"browser-b"`)) {
					bad = append(bad, spoiled(r, "cut", r.Value[:len(r.Value)-10]),
						spoiled(r, "time", happened.ReplaceAll(r.Value, []byte(`"ts":5`))))
				}
				return nil
			}); err != nil {
			t.Fatal(err)
		}
		if len(bad) == before {
			t.Fatalf("%s holds nothing of the visitor", name)
		}
	}
	if err := producer.Publish(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	for _, name := range written() {
		testkit.Eventually(t, time.Minute, func() error {
			if n := strings.Count(topic(t, s, name+kafka.DeadLetterSuffix), "browser-b"); n < 2 {
				return fmt.Errorf("%d of 2 dead letters of %s are there", n, name)
			}
			return nil
		})
	}
}

// spoiled is a copy of a record with another value and hash, lest it be a duplicate.
func spoiled(r *record.Record, how string, value []byte) record.Record {
	c := record.Record{Topic: r.Topic, Key: slices.Clone(r.Key), Value: slices.Clone(value), Time: time.Now()}
	for _, h := range r.Headers {
		h.Value = slices.Clone(h.Value)
		if h.Key == record.HeaderEventHash {
			h.Value = []byte(record.HashOf(c.Key, []byte(how)).Hex())
		}
		c.Headers = append(c.Headers, h)
	}
	return c
}

// joined has a visitor whose ids are stored hashed sign in, and looks for what came
// before among what the user did.
func joined(t *testing.T, s *harness.System) {
	t.Helper()
	const who = `"anonymousId":"browser-c","anonymizeVisitorIds":true`
	client := "?client_id=" + s.ClientID
	for _, told := range [][2]string{
		{"/track", `{"name":"looked","eventId":"before carla",` + who + `}`},
		{"/identify", `{"profileId":"carla",` + who + `}`},
	} {
		if status := send(t, http.MethodPost, s.IngestURL+told[0]+client, "", addressV4, told[1]); status != http.StatusOK {
			t.Errorf("%s: %d", told[0], status)
		}
	}
	type person struct {
		VisitorID string `json:"visitor_id"`
		ProfileID string `json:"profile_id"`
		Events    int    `json:"total_events"`
	}
	testkit.Eventually(t, time.Minute, func() error {
		a, err := harness.Post(t.Context(), s.QueryURL+"/v1/query?website_id="+s.WebsiteID, s.Key,
			[]byte(`{"parameters":["profile_list"],"preset":"last_7d"}`))
		if err != nil {
			return err
		}
		var response struct{ Data []struct{ Data []person } }
		if err := json.Unmarshal(a.Body, &response); err != nil || len(response.Data) != 1 {
			return fmt.Errorf("profile_list answers %d %s, %w", a.Status, a.Body, err)
		}
		people := response.Data[0].Data
		i := slices.IndexFunc(people, func(p person) bool { return p.ProfileID == "carla" })
		if i < 0 || people[i].Events != 1 || len(people[i].VisitorID) != 64 {
			return fmt.Errorf("the event from before is not hers: %+v", people)
		}
		return nil
	})
	if places := found(t, s.ClickHouse, "browser-c"); len(places) > 0 {
		t.Errorf("her id is stored as it was sent:\n%s", strings.Join(places, "\n"))
	}
}

// declined has the website honour both signals, and looks for what browsers have
// sent that give them.
func declined(t *testing.T, s *harness.System) {
	t.Helper()
	a, err := harness.Post(t.Context(), s.QueryURL+"/rpc/websites/update", s.Key,
		[]byte(`{"id":"`+s.WebsiteID+`","settings":{"honorGlobalPrivacyControl":true,"honorDoNotTrack":true}}`))
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("websites/update: %d %s, %v", a.Status, a.Body, err)
	}
	client := "?client_id=" + s.ClientID
	testkit.Eventually(t, 30*time.Second, func() error {
		if status := send(t, http.MethodPost, s.IngestURL+"/track"+client, "", addressV4,
			`{"name":"is it known yet"}`, "Dnt"); status != http.StatusNoContent {
			return fmt.Errorf("a browser that declines is answered %d", status)
		}
		return nil
	})
	for path, body := range bodies("browser-d", "dora") {
		for _, signal := range []string{"Sec-GPC", "DNT"} {
			if status := send(t, http.MethodPost, s.IngestURL+path+client, "",
				addressV4, body, signal); status != http.StatusNoContent {
				t.Errorf("%s with %s: %d", path, signal, status)
			}
		}
		if status := send(t, http.MethodPost, s.IngestURL+path+"?website_id="+s.WebsiteID, s.Key, addressV4,
			strings.NewReplacer("browser-d", "server-e", "dora", "emil").Replace(body), "DNT"); status != http.StatusOK {
			t.Errorf("%s with a key: %d", path, status)
		}
	}
	for _, info := range kafka.Topics {
		if text := topic(t, s, info.Name); strings.Contains(text, "browser-d") || strings.Contains(text, "dora") {
			t.Errorf("who declined is in topic %s", info.Name)
		}
	}
}

// everyRoute sends good and bad requests to all there are.
func everyRoute(t *testing.T, s *harness.System) {
	t.Helper()
	annas, bens := bodies("browser-a", "anna"), bodies("browser-b", "ben")
	for _, route := range ingestapi.Routes {
		url := s.IngestURL + strings.ReplaceAll(route.Path, ":hash", "0000")
		client := url + "?client_id=" + s.ClientID
		for _, address := range []string{addressV4, addressV6} {
			good := annas[route.Path]
			if address == addressV6 {
				good = bens[route.Path]
			}
			if status := send(t, route.Method, client, "", address, good); good != "" && status != http.StatusOK {
				t.Errorf("%s %s: %d", route.Method, route.Path, status)
			}
			for _, bad := range []string{
				"", "no json", "{", `[{"name":""}]`, `{"profileId":""}`, `[{"message":1}]`, "[" + strings.Repeat("[", 100),
				strings.Repeat("x", 3<<20),
			} {
				send(t, route.Method, client, "", address, bad)
			}
			send(t, route.Method, url, "", address, good)
			send(t, route.Method, url+"?client_id=nobody", "", address, good)
			send(t, route.Method, url+"?website_id="+s.WebsiteID, s.Key, address,
				strings.ReplaceAll(good, "browser-", "server-"))
			send(t, route.Method, url, s.UnknownKey, address, good)
			send(t, http.MethodOptions, url, "", address, "")
			send(t, http.MethodDelete, url, "", address, good)
		}
	}
	for visitor, address := range map[string]string{"browser-a": addressV4, "browser-b": addressV6} {
		for _, query := range pixels(visitor) {
			if status := send(t, http.MethodGet,
				s.IngestURL+"/px.jpg?client_id="+s.ClientID+"&"+query, "", address, ""); status != http.StatusOK {
				t.Errorf("the pixel with %s: %d", query, status)
			}
		}
	}
	send(t, http.MethodPost, s.IngestURL+"/nowhere", "", addressV4, "{}")
	// An identify call whose visitor id is stored hashed.
	hashed := strings.Replace(annas["/identify"], `"anonymizeVisitorIds":false,`, "", 1)
	send(t, http.MethodPost, s.IngestURL+"/identify?client_id="+s.ClientID, "", addressV4, hashed)
}

// has reports whether this build has a table.
func has(table string) bool {
	return slices.ContainsFunc(schema.Tables, func(t schema.Table) bool { return t.Name == table })
}

// count returns how many rows of a table fulfil a condition.
func count(t *testing.T, s *harness.System, table, where string) int {
	t.Helper()
	client, err := clickhouse.Dial(t.Context(), s.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var n proto.ColUInt64
	if err := client.Do(t.Context(), ch.Query{
		Body: "SELECT count() AS n FROM " + table + " WHERE " + where, Result: proto.Results{{Name: "n", Data: &n}},
	}); err != nil {
		t.Fatal(err)
	}
	return int(n.Row(0))
}

// awaitStored waits until every kind of record of a visitor is there.
func awaitStored(t *testing.T, s *harness.System, visitor string) {
	t.Helper()
	for table, least := range map[string]int{"events": 9, "vitals": 2, "errors": 2, "identities": 1} {
		if !has(table) {
			continue
		}
		testkit.Eventually(t, time.Minute, func() error {
			if n := count(t, s, table, "anonymous_id = '"+visitor+"'"); n < least {
				return fmt.Errorf("%d rows of %s are in %s, want %d", n, visitor, table, least)
			}
			return nil
		})
	}
}

// topic returns everything that is in a topic.
func topic(t *testing.T, s *harness.System, name string) string {
	t.Helper()
	var all strings.Builder
	err := kafka.NewLog(s.Kafka, slog.New(slog.DiscardHandler)).Read(t.Context(), name, time.Time{},
		func(r *record.Record, _ record.Position) error {
			fmt.Fprintf(&all, "%s %s ", r.Key, r.Value)
			for _, h := range r.Headers {
				fmt.Fprintf(&all, "%s=%s ", h.Key, h.Value)
			}
			return nil
		})
	if err != nil {
		t.Fatalf("reading %s: %v", name, err)
	}
	return all.String()
}

// inRedis returns everything that is in a database of Redis.
func inRedis(t *testing.T, url string) string {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer client.Close()
	var all strings.Builder
	keys := client.Scan(t.Context(), 0, "", 0).Iterator()
	for keys.Next(t.Context()) {
		value, err := client.Dump(t.Context(), keys.Val()).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s ", keys.Val(), value)
	}
	if err := keys.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// files returns what is in the files of a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

// erased has one of the two visitors erased, by the operations, and looks for her
// everywhere, before and after a restart.
func erased(t *testing.T, s *harness.System) {
	t.Helper()
	call := func(operation, body string) (id, state string) {
		t.Helper()
		a, err := harness.Post(t.Context(), s.QueryURL+"/rpc/"+operation, s.Key, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var response struct {
			Success bool
			Data    struct{ ID, State string }
		}
		if err := json.Unmarshal(a.Body, &response); err != nil || !response.Success {
			t.Fatalf("%s: %d %s, %v", operation, a.Status, a.Body, err)
		}
		return response.Data.ID, response.Data.State
	}
	left := func() []string { return found(t, s.ClickHouse, "anna", "browser-a") }
	if len(left()) == 0 {
		t.Fatal("she is nowhere before the erasure; the test shows nothing")
	}
	ids := map[string]string{}
	for _, subject := range []string{`"profileId":"anna"`, `"anonymousId":"browser-a"`} {
		ids[subject], _ = call("profiles/delete", `{"websiteId":"`+s.WebsiteID+`",`+subject+`}`)
	}
	for subject, id := range ids {
		testkit.Eventually(t, 2*time.Minute, func() error {
			if _, state := call("erasures/get", `{"id":"`+id+`"}`); state != "done" {
				return fmt.Errorf("erasure by %s is %s", subject, state)
			}
			return nil
		})
	}
	if places := left(); len(places) > 0 {
		t.Errorf("something is left:\n%s", strings.Join(places, "\n"))
	}
	awaitStored(t, s, "browser-b")
	if n := count(t, s, "events", "event_id = 'hashed browser-b'"); n != 1 {
		t.Errorf("%d rows of the other visitor's hashed event", n)
	}
	p := s.Process(harness.Sink)
	p.Stop(t)
	p.Start(t)
	if places := left(); len(places) > 0 {
		t.Errorf("after a restart, something is there:\n%s", strings.Join(places, "\n"))
	}
}
