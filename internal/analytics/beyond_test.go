package analytics

import (
	"context"
	"strings"
	"testing"
)

// A response of one row has it on the first page alone, and nothing is computed for others.
func TestAResponseOfOneRowHasNoneOnLaterPages(t *testing.T) {
	t.Parallel()
	for i := range Catalog {
		typ := &Catalog[i]
		for more, empty := range map[string]bool{
			`"page":1`: false, `"page":1,"limit":5`: false, `"page":2`: true, `"page":1000000,"limit":10000`: true,
		} {
			for from, env := range tableEnvs(envOf(typ).Subject.Kind) {
				body := strings.Replace(typ.Example("last_7d"), `"preset"`, more+`,"preset"`, 1)
				s := mustStatement(t, body, env)
				want := empty && typ.SingleRow()
				if s.Empty != want || strings.HasSuffix(s.SQL, "\nLIMIT 0") != want {
					t.Errorf("%s from %s: without rows is %v, want %v:\n%s", body, from, s.Empty, want, s.SQL)
				}
			}
		}
	}
}

func TestAResponseOfOneRowHasNoneAfterIt(t *testing.T) {
	t.Parallel()
	requests, _, err := Decode([]byte(oneSummary))
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int{0, 1} {
		requests[0].Offset = offset
		plans, err := Compile(requests, false, websiteEnv())
		if err != nil {
			t.Fatal(err)
		}
		if got := plans[0].Statements[0].Empty; got != (offset == 1) {
			t.Errorf("after %d rows: without rows is %v", offset, got)
		}
	}
}

// What is computed together with others, and compared, has none either.
func TestLaterPagesOfOneRowRunNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"parameters":["summary","custom_events_summary"],"preset":"last_7d","page":2}`,
		`{"parameters":["summary","custom_events_summary"],"preset":"last_7d","page":2,"compare":"previous_period"}`,
		`{"parameters":["summary","top_pages","active_stats"],"preset":"last_7d","page":2,"filters":[
			{"field":"path","op":"eq","value":"/"}]}`,
		`{"parameters":["summary","events_by_date"],"preset":"last_7d","limit":100,"page":2}`,
	} {
		for from, env := range tableEnvs(Website) {
			plans, err := compileBody(t, body, env)
			if err != nil {
				t.Fatal(err)
			}
			r := &rowRunner{}
			e := cachingEngine(t, r, &dial{}, Config{})
			for _, result := range e.Execute(t.Context(), plans)[0] {
				want := 1
				if result.Output.Type.SingleRow() {
					want = 0
				}
				if result.Err != nil || result.Table.Rows != want {
					t.Errorf("%s from %s: %s has %v, %v; want %d rows", body, from, result.Output.Type.Name, result.Table,
						result.Err, want)
				}
			}
		}
	}
}

// The ETag is of the question, which no data changes.
func TestALaterPageOfOneRowHasATagWithoutAVersion(t *testing.T) {
	t.Parallel()
	ctx, versions := t.Context(), &dial{}
	e := cachingEngine(t, &rowRunner{}, versions, Config{})
	tagOf := func(body string) string {
		x := e.Prepare(ctx, plansOf(t, body), Freshness{})
		defer x.Close()
		tag, ok := x.Tag()
		if all, good := x.Known(); !all || !good {
			t.Errorf("%s is not known at once", body)
		}
		return map[bool]string{true: string(tag)}[ok]
	}
	second := tagOf(`{"parameters":["summary"],"preset":"today","page":2}`)
	if second == "" || second != tagOf(`{"parameters":["summary"],"preset":"today","page":2}`) || versions.reads > 0 {
		t.Errorf("the tag is %q, after %d readings of versions", second, versions.reads)
	}
	if second == tagOf(`{"parameters":["summary"],"preset":"yesterday","page":2}`) {
		t.Error("two ranges have one tag")
	}
	if tagOf(`{"parameters":["active_stats"],"page":2}`) != "" {
		t.Error("what is about this moment has a tag")
	}
}

// rowRunner answers every statement with one row, at once.
type rowRunner struct{}

func (*rowRunner) Run(_ context.Context, s *Statement) (*Table, error) {
	return &Table{Rows: 1, Columns: make([]Values, len(s.Columns))}, nil
}
