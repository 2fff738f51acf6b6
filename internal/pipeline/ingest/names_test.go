package ingest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/event"
)

// admitted are the names among some that an owner's events may keep.
func admitted(n *names, kind event.Kind, owner string, at time.Time, all ...string) (kept []string) {
	for _, name := range all {
		if n.admit(kind, owner, []byte(name), at) {
			kept = append(kept, name)
		}
	}
	return kept
}

func TestTheFirstNamesOfADayAreKept(t *testing.T) {
	t.Parallel()
	n := newNames(3)
	for _, step := range []struct {
		what  string
		kind  event.Kind
		owner string
		at    time.Time
		names string
		want  string
	}{
		{"up to the limit, and one beyond", event.Custom, "web_1", noon, "a b a c d a", "a b a c a"},
		{"what is known is kept", event.Custom, "web_1", noon, "c e b", "c b"},
		{"another website", event.Custom, "web_2", noon, "d e f g", "d e f"},
		{"its errors", event.Error, "web_1", noon, "d e f g", "d e f"},
		{"the last moment of the day", event.Custom, "web_1", noon.Add(12*time.Hour - 1), "d a", "a"},
		{"the next day", event.Custom, "web_1", noon.Add(12 * time.Hour), "d e f a", "d e f"},
		{"a request of the day before that ends late", event.Custom, "web_1", noon, "a d", "d"},
	} {
		got := strings.Join(admitted(n, step.kind, step.owner, step.at, strings.Fields(step.names)...), " ")
		if got != step.want {
			t.Errorf("%s: kept %q, want %q", step.what, got, step.want)
		}
	}
	if got := len(admitted(newNames(0), event.Custom, "web_1", noon, strings.Fields("a b c d e f")...)); got != 6 {
		t.Errorf("without a limit %d of 6 names are kept", got)
	}
}

// Memory is bounded: an owner that nothing came from while many others had theirs is
// forgotten; one that is asked for all the time is not.
func TestOwnersThatAreSilentAreForgottenForOthers(t *testing.T) {
	t.Parallel()
	n := newNames(2)
	n.kept = 64
	if got := admitted(n, event.Custom, "busy", noon, "a", "b", "c"); len(got) != 2 {
		t.Fatalf("kept %v", got)
	}
	for i := range 3 * nameShards * n.kept / 2 {
		n.admit(event.Custom, fmt.Sprint("web_", i), []byte("x"), noon)
		n.admit(event.Custom, fmt.Sprint("web_", i), []byte("y"), noon)
		if i%(n.kept/4) == 0 && n.admit(event.Custom, "busy", []byte("c"), noon) {
			t.Fatalf("a busy website was forgotten after %d others", i)
		}
	}
	held := 0
	for i := range n.shards {
		for _, generation := range []map[string]nameSet{n.shards[i].now, n.shards[i].before} {
			for _, set := range generation {
				held += len(set)
			}
		}
	}
	if most := nameShards * (2*n.kept + 4); held > most {
		t.Errorf("%d names are remembered, want at most %d", held, most)
	}
	if !n.admit(event.Custom, "web_0", []byte("z"), noon) {
		t.Error("a website that was silent is remembered")
	}
}

func TestManyMayAskAtOnce(t *testing.T) {
	t.Parallel()
	n := newNames(100)
	var all sync.WaitGroup
	var mu sync.Mutex
	kept := map[string]bool{}
	for g := range 8 {
		all.Go(func() {
			for i := range 500 {
				name := fmt.Sprint("n", (i+37*g)%200)
				if n.admit(event.Custom, "web_1", []byte(name), noon) {
					mu.Lock()
					kept[name] = true
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if len(kept) != 100 {
		t.Errorf("%d names are kept, want 100", len(kept))
	}
}

// What has one name too many is taken like any other event, under the name that such
// events share, with its own beside it. Names that have a meaning are never too many.
func TestAnEventWithOneNameTooManySharesOne(t *testing.T) {
	t.Parallel()
	w := &world{}
	a := w.acceptor()
	a.names = newNames(2)
	body := `[{"name":"a"},{"name":"b"},{"name":"c \"d\"","path":"/p"},{"name":"a"},{"name":"screen_view"},{"name":"page_exit"},{"name":"outgoing_link"},
		{"name":"link_out"},{"name":"engagement"},{"name":"c"}]`
	if count, err := track(t, a, request("global", "web_1", body)); err != nil || count != 10 {
		t.Fatalf("%d events were taken: %v", count, err)
	}
	type stored struct {
		Name         string `json:"name"`
		OriginalName string `json:"originalName"`
	}
	var got []stored
	for _, r := range w.published {
		var s stored
		if err := json.Unmarshal(r.Value, &s); err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	want := []stored{
		{"a", ""},
		{"b", ""},
		{"(other)", `c "d"`},
		{"a", ""},
		{"screen_view", ""},
		{"page_exit", ""},
		{"outgoing_link", ""},
		{"link_out", ""},
		{"engagement", ""},
		{"(other)", "c"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if n := testutil.ToFloat64(a.metrics.renamed); n != 2 {
		t.Errorf("%v events are counted as renamed, want 2", n)
	}
}
