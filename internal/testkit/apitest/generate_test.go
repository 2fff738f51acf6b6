package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// made is a document whose only operation takes a body of every sort of member.
var made = strings.Replace(small, `"post":{`, `"post":{
"parameters":[{"name":"kind","in":"query","required":true,"schema":{"enum":["a","b"]}}],
"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Body"}}}},`, 1)

const bodySchema = `"Body":{"type":"object","required":["name","at"],"additionalProperties":false,"properties":{
"name":{"type":"string","minLength":2,"maxLength":5},"at":{"type":"string","format":"date-time"},
"kind":{"enum":["x",null]},"count":{"type":"integer","minimum":1,"maximum":5},
"share":{"type":["number","null"],"minimum":0,"maximum":1},"list":{"type":"array","minItems":1,"maxItems":3,
"items":{"oneOf":[{"type":"boolean"},{"$ref":"#/components/schemas/Body"}]}},
"more":{"type":"object","additionalProperties":{"const":7}}}},`

func generator(t *testing.T, seed uint64) *Generator {
	t.Helper()
	doc, err := ParseOpenAPI([]byte(strings.Replace(made, `"schemas":{`, `"schemas":{`+bodySchema, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return &Generator{Document: doc, Rand: rand.New(rand.NewPCG(seed, 0))}
}

func TestMadeUpRequestsFitTheDocumentUnlessTheyAreSpoilt(t *testing.T) {
	t.Parallel()
	g := generator(t, 1)
	schema, err := g.Document.schema([]string{"components", "schemas", "Body"})
	if err != nil {
		t.Fatal(err)
	}
	fit, unfit := 0, 0
	for range 1000 {
		r := g.Request("POST /things")
		if r.Path != "/things" || r.Method != "POST" {
			t.Fatalf("%s %s", r.Method, r.Path)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Body))
		if err == nil {
			err = schema.Validate(value)
		}
		switch {
		case !r.Spoilt && err != nil:
			t.Errorf("%s: %v", r.Body, err)
		case !r.Spoilt && r.Target != "/things?kind=a" && r.Target != "/things?kind=b":
			t.Errorf("%s", r.Target)
		case err == nil:
			fit++
		default:
			unfit++
		}
	}
	if fit < 400 || unfit < 300 {
		t.Errorf("%d requests fit, %d do not", fit, unfit)
	}
}

func TestTheSameSourceMakesTheSameRequests(t *testing.T) {
	t.Parallel()
	all := func(seed uint64) string {
		g, b := generator(t, seed), &strings.Builder{}
		for range 100 {
			if err := json.NewEncoder(b).Encode(fmt.Sprint(g.Request("POST /things"))); err != nil {
				t.Fatal(err)
			}
		}
		return b.String()
	}
	first := all(1)
	if again := all(1); first != again {
		t.Error("of one seed, different requests")
	}
	if first == all(2) {
		t.Error("of two seeds, the same requests")
	}
}
