package httpkit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fastjson"
	"pgregory.net/rapid"
)

// countValues counts the values of a parsed JSON text.
func countValues(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += countValues(item)
		}
	case map[string]any:
		for _, item := range v {
			n += countValues(item)
		}
	}
	return n
}

func TestMeter_CountsWhatAParserBuilds(t *testing.T) {
	t.Parallel()
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Int(), func(n int) any { return n }),
		rapid.Map(rapid.StringMatching(`[a\\"\[\]{},: ]*`), func(s string) any { return s }))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		list := rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(l []any) any { return l })
		object := rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a\\",\[]*`), value(depth-1), 0, 4),
			func(m map[string]any) any { return m })
		return rapid.OneOf(leaf, list, object)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(4).Draw(t, "value")
		indent := rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent")
		text, err := json.MarshalIndent(v, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		m := meter{most: 1 << 20}
		part := rapid.IntRange(1, len(text)).Draw(t, "part")
		for some := range slices.Chunk(text, part) {
			if err := m.add(some); err != nil {
				t.Fatal(err)
			}
		}
		if want := countValues(v); m.values+1 != want || m.level != 0 {
			t.Fatalf("%s has %d values, want %d", text, m.values+1, want)
		}
	})
}

func TestJSON_BoundsValuesAndDepth(t *testing.T) {
	t.Parallel()
	const values = 100
	app := newApp(t, Config{})
	Handle(app, "POST", "/tree", func(c *fiber.Ctx) error {
		if _, err := JSON(c, Limits{Values: values}); err != nil {
			return err
		}
		return c.SendString("ok")
	})
	list := func(item string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	members := func(n int) string {
		return "{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, n), ",") + "}"
	}
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, tc := range map[string]struct {
		body   string
		status int
	}{
		"numbers at the limit":  {list("1", values-1), 200},
		"numbers beyond":        {list("1", values), 413},
		"arrays at the limit":   {list("[]", values-1), 200},
		"arrays beyond":         {list("[]", values), 413},
		"members at the limit":  {members(values - 1), 200},
		"members beyond":        {members(values), 413},
		"a string with commas":  {`"` + strings.Repeat(`,[`, values) + `"`, 200},
		"no JSON":               {strings.Repeat("[", values), 400},
		"the deepest":           {nested(MaxDepth), 200},
		"a level deeper":        {nested(MaxDepth + 1), 400},
		"closed before opened":  {strings.Repeat("]", values), 200}, // for the parser to reject
		"a string without end":  {`"` + strings.Repeat(`\"`, values), 200},
		"an escape and a quote": {`["\\",` + strings.Repeat("1,", values) + `1]`, 413},
	} {
		if got := do(t, app, http.MethodPost, "/tree", nil, tc.body); got.status != tc.status {
			t.Errorf("%s: %d %s, want %d", name, got.status, got.body, tc.status)
		}
	}
	if used := kitOf(app).cfg.Admission.Used(); used != 0 {
		t.Errorf("%d bytes are claimed afterwards", used)
	}
}

//nolint:paralleltest // it measures memory
func TestJSON_ClaimsWhatTheTreeTakes(t *testing.T) {
	const values = 20_000
	app := newApp(t, Config{})
	gate := kitOf(app).cfg.Admission
	var claimed int64
	Handle(app, "POST", "/tree", func(c *fiber.Ctx) error {
		body, err := JSON(c, Limits{Values: 3 * values})
		if err != nil {
			return err
		}
		claimed = gate.Used() - int64(len(body))
		before := inUse()
		tree, err := fastjson.ParseBytes(body)
		if err != nil {
			return err
		}
		if took := inUse() - before; took > claimed {
			t.Errorf("the tree of %.9s takes %d bytes; %d are claimed", body, took, claimed)
		}
		return c.SendString(fmt.Sprint(tree.Type()))
	})
	for _, item := range []string{"[]", "{}", "1", `""`, `{"a":1}`, "[[]]"} {
		body := "[" + strings.TrimSuffix(strings.Repeat(item+",", values), ",") + "]"
		if got := do(t, app, http.MethodPost, "/tree", nil, body); got.status != 200 {
			t.Errorf("%s: %d %s", item, got.status, got.body)
		}
	}
}
