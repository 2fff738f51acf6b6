package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/pipeline/deadletter"
	"github.com/millrace/millrace/internal/platform/config"
)

// letterBox is a broker with topics, and a way to put letters into them.
func letterBox(
	t *testing.T,
) (brokers string, put func(offset int64, reason deadletter.Reason, value string, headers ...record.Header)) {
	t.Helper()
	_, cfg := kafkatest.Cluster(t)
	if _, err := kafka.EnsureTopics(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return "--kafka.brokers=" + cfg.Brokers[0],
		func(offset int64, reason deadletter.Reason, value string, headers ...record.Header) {
			t.Helper()
			putLetter(t, cfg, offset, reason, value, headers)
		}
}

func putLetter(
	t *testing.T, cfg config.Kafka, offset int64, reason deadletter.Reason, value string, headers []record.Header,
) {
	t.Helper()
	producer, err := kafka.NewProducer(cfg, kafka.ProducerDeps{
		Client: "test", Deadline: 20 * time.Second, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close(t.Context())
	at := record.Position{Topic: record.TopicEvents, Partition: 2, Offset: offset}
	headers, err = deadletter.Note{Source: at, Reason: reason, Err: errors.New("it\tdoes not fit"), At: time.Now()}.Append(
		headers)
	if err != nil {
		t.Fatal(err)
	}
	for i := range headers {
		if value == "odd" && headers[i].Key == deadletter.HeaderReason {
			headers[i].Value = []byte("novel")
		}
	}
	r := record.Record{
		Topic: record.TopicEvents + deadletter.Suffix, Key: []byte("web_1"), Value: []byte(value), Headers: headers,
		Time: time.Now(),
	}
	if err := producer.Publish(t.Context(), []record.Record{r}); err != nil {
		t.Fatal(err)
	}
}

func wantMatch(t *testing.T, what, out, want string) {
	t.Helper()
	if !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("%s prints\n%s\nwant a match of %s", what, out, want)
	}
}

func TestDeadLettersAreListedShownReplayedAndParked(t *testing.T) {
	t.Parallel()
	brokers, put := letterBox(t)
	website := record.Header{Key: record.HeaderWebsite, Value: []byte("web_1")}
	put(40, deadletter.ReasonValue, "no json", website)
	put(40, deadletter.ReasonValue, "no json", website) // sent twice by the sink
	put(41, deadletter.ReasonTime, "\x00\x01", website)
	put(42, deadletter.ReasonHeaders, "bare")

	list := mustMillrace(t, "dlq", "ls", brokers)
	wantMatch(t, "ls", list, `(?m)^events\.v1\.dlq/\d/0 +value +open +events\.v1/2/40 +0 +20\S+Z +web_1 +it·does not fit$`)
	wantMatch(t, "ls", list, `(?m)^3 letters, 3 listed\n  headers open: 1\n  time open: 1\n  value open: 1\n`)
	wantMatch(t, "ls --limit", mustMillrace(t, "dlq", "ls", brokers, "--limit", "1"), `(?m)^3 letters, 1 listed$`)

	position := regexp.MustCompile(`(?m)^(\S+) +time `).FindStringSubmatch(list)[1]
	show := mustMillrace(t, "dlq", "show", brokers, position)
	wantMatch(t, "show", show, `(?m)^reason +time \(invariant\)$`)
	wantMatch(t, "show", show, `(?m)^header website +web_1$`)
	wantMatch(t, "show", show, `(?m)^value +0x0001 \(2 bytes\)$`)

	var letter jsonLetter
	out := mustMillrace(t, "dlq", "ls", brokers, "--class", "invariant", "--json")
	if err := json.Unmarshal([]byte(out), &letter); err != nil || letter.Position != position ||
		letter.Website != "web_1" {
		t.Errorf("as JSON: %s, %v", out, err)
	}

	wantMatch(t, "a dry run", mustMillrace(t, "dlq", "replay", brokers, "--reason", "value", "--dry-run"),
		`(?m)^\S+  sent  value from events\.v1/2/40, hops 0\n1 sent again \(dry run: nothing was changed\)\n$`)
	wantMatch(t, "replay", mustMillrace(t, "dlq", "replay", brokers, "--topic", "events.v1"),
		`needs force  headers from events\.v1/2/42(.|\n)*2 sent again\n1 skipped, likely to be rejected again: --force sends them\n$`)
	wantMatch(t, "replay", mustMillrace(t, "dlq", "replay", brokers, "--position", position),
		`^1 skipped, handled before\n$`)
	wantMatch(t, "replay --again",
		mustMillrace(t, "dlq", "replay", brokers, "--position", position, "--again"), `^1 sent again\n$`)
	wantMatch(t, "park", mustMillrace(t, "dlq", "park", brokers, "--reason", "headers"),
		`parked  headers(.|\n)*1 parked\n$`)

	wantMatch(t, "ls", mustMillrace(t, "dlq", "ls", brokers), `^0 letters, 0 listed\n$`)
	wantMatch(t, "ls --parked", mustMillrace(t, "dlq", "ls", brokers, "--parked"),
		`(?m)^1 letters, 1 listed\n  headers parked: 1\n`)
	wantMatch(t, "ls --all", mustMillrace(t, "dlq", "ls", brokers, "--all"),
		`(?m)^3 letters, 3 listed\n  headers parked: 1\n  time replayed: 1\n  value replayed: 1\n`)
	tap := mustMillrace(t, "tap", brokers, "--exit", "--json")
	if strings.Count(tap, "no json") != 1 || strings.Count(tap, "\x00\x01") != 2 {
		t.Errorf("events.v1 holds %q", tap)
	}
}

func TestALetterOfAnUnknownReasonFailsLoudly(t *testing.T) {
	t.Parallel()
	brokers, put := letterBox(t)
	put(40, deadletter.ReasonValue, "fine")
	put(41, deadletter.ReasonValue, "odd")
	for _, sub := range []string{"ls", "replay", "park"} {
		_, _, err := millrace(t, "dlq", sub, brokers)
		if err == nil || !strings.Contains(err.Error(), `unknown reason "novel"`) {
			t.Errorf("dlq %s: the error is %v", sub, err)
		}
	}
	if tap := mustMillrace(t, "tap", brokers, "--exit", "--json"); tap != "" {
		t.Errorf("sent was %q", tap)
	}
}

func TestDeadLetterCommandsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	brokers, _ := letterBox(t)
	for args, want := range map[string]string{
		"ls --topic events":                   `--topic: "events" has no dead letters; the topics that have are events.v1,`,
		"ls --reason novel":                   `unknown reason "novel"; the reasons are headers, value, time,`,
		"ls --class novel":                    `unknown class "novel"; the classes are undecodable,`,
		"ls --until soon":                     `--until must be a duration such as 10m or a time`,
		"show here":                           `"here" is not a position such as events.v1.dlq/3/1041`,
		"show elsewhere/1/1":                  `the topic must be one of events.v1,`,
		"show events.v1.dlq/1/1041":           `record events.v1.dlq/1/1041 does not exist`,
		"replay --position events.v1.dlq/0/0": `record events.v1.dlq/0/0 does not exist`,
	} {
		_, _, err := millrace(t, append([]string{"dlq", brokers}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dlq %s: the error is %v, want %q in it", args, err, want)
		}
	}
}
