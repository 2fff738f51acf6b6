package deadletter

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/contract/record"
)

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	source = record.Position{Topic: record.TopicEvents, Partition: 3, Offset: 17}
)

func header(key, value string) record.Header { return record.Header{Key: key, Value: []byte(value)} }

// stored is a record as a sink leaves it in the dead letter topic.
func stored(t *testing.T, n Note, key, value string, original ...record.Header) *record.Record {
	t.Helper()
	headers, err := n.Append(original)
	if err != nil {
		t.Fatal(err)
	}
	return &record.Record{
		Topic: n.Source.Topic + Suffix, Key: []byte(key), Value: []byte(value), Headers: headers, Time: n.At,
	}
}

func note(reason Reason) Note {
	return Note{Source: source, Reason: reason, Err: errors.New("why"), At: noon}
}

func TestALetterHoldsTheRecordAndThenTheReason(t *testing.T) {
	t.Parallel()
	r := stored(t, note(ReasonTime), "web_1", "{}", header("x", "kept"), header(record.HeaderWebsite, "web_1"))
	want := []record.Header{
		header("x", "kept"), header(record.HeaderWebsite, "web_1"),
		header(HeaderReason, "time"), header(HeaderClass, "invariant"), header(HeaderTopic, "events.v1"),
		header(HeaderPartition, "3"), header(HeaderOffset, "17"), header(HeaderError, "why"), header(HeaderHops, "0"),
		header(HeaderFirstSeen, strconv.FormatInt(noon.UnixMilli(), 10)),
	}
	if diff := cmp.Diff(want, r.Headers); diff != "" {
		t.Error(diff)
	}
	at := record.Position{Topic: "events.v1.dlq", Partition: 1, Offset: 5}
	got, err := Parse(r, at)
	if err != nil {
		t.Fatal(err)
	}
	letter := &Letter{
		Position: at, At: noon, Source: source, Reason: ReasonTime, Class: ClassInvariant, Error: "why", FirstSeen: noon,
		Key: []byte("web_1"), Value: []byte("{}"), Headers: want[:2],
	}
	if diff := cmp.Diff(letter, got); diff != "" {
		t.Error(diff)
	}
	if got.Website() != "web_1" || got.Organization() != "" {
		t.Errorf("website %q, organization %q", got.Website(), got.Organization())
	}
}

func TestALetterThatIsNotWholeSaysSoAndHowLargeTheRecordWas(t *testing.T) {
	t.Parallel()
	n := note(ReasonHeaders)
	forged := header(HeaderCut, "key=1 headers=1 value=1") // of the record itself
	at := record.Position{Topic: "events.v1.dlq", Partition: 1, Offset: 5}
	whole, err := Parse(stored(t, n, "web_1", "{}", forged), at)
	if err != nil || whole.Cut != "" || whole.tooLarge() {
		t.Errorf("a whole one is cut as %q, %v", whole.Cut, err)
	}
	n.Cut = &Sizes{Key: 5, Headers: 2_000_000, Value: 5 << 20}
	cut, err := Parse(stored(t, n, "web_1", "{", forged), at)
	if err != nil || cut.Cut != "key=5 headers=2000000 value=5242880" || !cut.tooLarge() {
		t.Errorf("cut as %q, %v", cut.Cut, err)
	}
	if diff := cmp.Diff([]record.Header{forged}, cut.Headers); diff != "" {
		t.Errorf("headers of the record (-want +got):\n%s", diff)
	}
}

func TestALetterIsSentAgainUpToWhatABatchTakes(t *testing.T) {
	t.Parallel()
	letter := func(key, value, header int) *Letter {
		return &Letter{
			Key: make([]byte, key), Value: make([]byte, value),
			Headers: []record.Header{{Key: "k", Value: make([]byte, header)}},
		}
	}
	const rest = 1 + headerBytes
	for name, tc := range map[string]struct {
		is   *Letter
		want bool
	}{
		"value, at the limit":  {letter(0, maxSent-rest, 0), false},
		"value, beyond it":     {letter(0, maxSent-rest+1, 0), true},
		"all of it, at it":     {letter(10, 20, maxSent-rest-30), false},
		"all of it, beyond it": {letter(10, 20, maxSent-rest-29), true},
	} {
		if got := tc.is.tooLarge(); got != tc.want {
			t.Errorf("%s: tooLarge() = %v", name, got)
		}
	}
}

func TestALetterSentAgainKeepsItsHistory(t *testing.T) {
	t.Parallel()
	first, err := Parse(
		stored(t, note(ReasonValue), "k", "v", header(record.HeaderEventHash, "e"), header("dlq-own", "dropped")),
		record.Position{Topic: "events.v1.dlq", Partition: 1, Offset: 5})
	if err != nil {
		t.Fatal(err)
	}
	again := first.again("run1", noon.Add(time.Hour))
	if again.Topic != record.TopicEvents || string(again.Key) != "k" || string(again.Value) != "v" ||
		!again.Time.Equal(noon.Add(time.Hour)) {
		t.Errorf("the record is %+v", again)
	}
	want := []record.Header{
		header(record.HeaderEventHash, "e"), header(record.HeaderReplay, "1"), header(record.HeaderHops, "1"),
		header(HeaderFirstSeen, strconv.FormatInt(noon.UnixMilli(), 10)), header(HeaderTrace, "value events.v1.dlq/1/5"),
		header(HeaderRun, "run1 "+first.ID()),
	}
	if diff := cmp.Diff(want, again.Headers); diff != "" {
		t.Error(diff)
	}

	// It fails again, elsewhere and later.
	n := Note{
		Source: record.Position{Topic: record.TopicEvents, Partition: 3, Offset: 99},
		Reason: "refused",
		Err:    errors.New("no"),
		At:     noon.Add(2 * time.Hour),
	}
	second, err := Parse(stored(t, n, "k", "v", again.Headers...),
		record.Position{Topic: "events.v1.dlq", Partition: 1, Offset: 6})
	if err != nil {
		t.Fatal(err)
	}
	if second.Hops != 1 || !second.FirstSeen.Equal(noon) || second.ID() == first.ID() {
		t.Errorf("hops %d, first seen %s, id %s", second.Hops, second.FirstSeen, second.ID())
	}
	if diff := cmp.Diff([]string{"value events.v1.dlq/1/5"}, second.Trace); diff != "" {
		t.Error(diff)
	}
	third := second.again("run2", noon)
	if trace := historyOf(third.Headers).trace; trace != "value events.v1.dlq/1/5,refused events.v1.dlq/1/6" ||
		historyOf(third.Headers).hops != 2 {
		t.Errorf("the trace is %q", trace)
	}
}

// Whoever can write to a topic can write any header.
func TestWhatARecordSaysOfItselfIsNotBelieved(t *testing.T) {
	t.Parallel()
	year := strconv.FormatInt(noon.AddDate(-1, 0, 0).UnixMilli(), 10)
	forged := []record.Header{
		header(HeaderReason, "time"), header(HeaderTopic, "other"), header(HeaderOffset, "1"), header(HeaderHops, "7"),
		header(HeaderFirstSeen, year), header(HeaderTrace, "a,b"), header(record.HeaderHops, "-5"),
	}
	l, err := Parse(stored(t, note(ReasonHeaders), "k", "v", forged...), record.Position{Topic: "events.v1.dlq"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Reason != ReasonHeaders || l.Source != source || l.Hops != 0 || !l.FirstSeen.Equal(noon) || l.Trace != nil {
		t.Errorf("the letter is %+v", l)
	}
	if diff := cmp.Diff(forged, l.Headers); diff != "" {
		t.Errorf("the original headers: %s", diff)
	}
	future := []record.Header{
		header(record.HeaderReplay, "1"), header(HeaderFirstSeen, strconv.FormatInt(noon.AddDate(1, 0, 0).UnixMilli(), 10)),
	}
	if l, err = Parse(stored(t, note(ReasonHeaders), "k", "v", future...),
		record.Position{Topic: "events.v1.dlq"}); err != nil || !l.FirstSeen.Equal(noon) {
		t.Errorf("first seen %s, %v", l.FirstSeen, err)
	}
}

func TestAnErrorIsCutAtACharacter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		strings.Repeat("a", MaxErrorBytes):         MaxErrorBytes,
		strings.Repeat("a", MaxErrorBytes+1):       MaxErrorBytes,
		strings.Repeat("a", MaxErrorBytes-1) + "é": MaxErrorBytes - 1,
		strings.Repeat("a", MaxErrorBytes-2) + "é": MaxErrorBytes,
		strings.Repeat("a", MaxErrorBytes-2) + "🙂": MaxErrorBytes - 2,
		"a\xffb": len("a\uFFFDb"),
	} {
		if got := clip(in, MaxErrorBytes); len(got) != want || !utf8.ValidString(got) {
			t.Errorf("of %d bytes %d are left, want %d", len(in), len(got), want)
		}
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := note("novel").Append(nil); !errors.Is(err, ErrUnknownReason) {
		t.Errorf("a letter of a new reason is written: %v", err)
	}
	for key, value := range map[string]string{
		HeaderReason: "novel", HeaderClass: "refused", HeaderTopic: "events.v2", HeaderPartition: "-1", HeaderOffset: "x",
		HeaderHops: "", HeaderFirstSeen: "noon",
	} {
		r := stored(t, note(ReasonValue), "k", "v")
		for i := range r.Headers {
			if r.Headers[i].Key == key {
				r.Headers[i].Value = []byte(value)
			}
		}
		l, err := Parse(r, record.Position{Topic: "events.v1.dlq"})
		if err == nil || l == nil {
			t.Errorf("%s: %q is accepted", key, value)
		}
		if unknown := key == HeaderReason || key == HeaderClass; errors.Is(err, ErrUnknownReason) != unknown {
			t.Errorf("%s: the error is %v", key, err)
		}
	}
	if _, err := Parse(&record.Record{}, record.Position{Topic: "events.v1.dlq"}); err == nil {
		t.Error("a record without headers is taken for a letter")
	}
}

// A reason that the table does not have would stop the sink.
func TestEveryReasonIsInTheTable(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if _, err := KindOf(Reason(value)); err != nil {
			t.Error(err)
		}
		return true
	})
	if found < 3 {
		t.Errorf("found only %d reasons", found)
	}
}

func TestPositionsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	if got, err := ParsePosition(FormatPosition(source)); got != source || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{
		"", "events.v1.dlq", "events.v1.dlq/1", "/1/1", "t/-1/1", "t/1/x", "t/1/2/3", "t/3000000000/1",
	} {
		if _, err := ParsePosition(bad); err == nil {
			t.Errorf("%q is a position", bad)
		}
	}
}

func TestIDsTellLettersApart(t *testing.T) {
	t.Parallel()
	id := func(offset int64, key, value string) string {
		return (&Letter{Source: record.Position{Topic: "t", Offset: offset}, Key: []byte(key), Value: []byte(value)}).ID()
	}
	seen := map[string]bool{id(1, "k", "v"): true}
	for _, other := range []string{id(2, "k", "v"), id(1, "kv", ""), id(1, "k", "w"), id(1, "", "kv")} {
		if seen[other] {
			t.Errorf("%s is not unique", other)
		}
		seen[other] = true
	}
	if !seen[id(1, "k", "v")] {
		t.Error("an id changes")
	}
}
