package flagapi

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// benchFlags are flags of 10 rules of 3 conditions each, of which the last serves.
func benchFlags(n int) []*flag.Flag {
	all := make([]*flag.Flag, n)
	for i := range all {
		all[i] = text(fmt.Sprintf("flag-%03d", i), func(f *flag.Flag) {
			for r := range 10 {
				f.Definition.Rules = append(f.Definition.Rules, flageval.Rule{
					Conditions: &flageval.Conditions{All: []flageval.Condition{
						{Attribute: "email", Op: "endsWith", Values: []any{"@shop.example"}},
						{Attribute: "organizationId", Op: "in", Values: []any{"a", "b", "acme"}},
						{Attribute: "teamId", Op: "eq", Values: []any{fmt.Sprintf("team-%d", r)}},
					}},
					Serve: rollout(50, flageval.MissStop),
				})
			}
		})
	}
	return all
}

const benchPerson = "&userId=user-4711&email=ann%40shop.example&organizationId=acme&teamId=team-9"

// benchmark asks for a target again and again, without a network.
func benchmark(b *testing.B, target string) {
	b.Helper()
	app := mounted(b, benchFlags(100))
	app.Handler() // builds the routes
	serve := app.Server().Handler
	sent := []byte("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")
	from := bytes.NewReader(sent)
	reader := bufio.NewReader(from)
	var rc fasthttp.RequestCtx
	rc.Init(&fasthttp.Request{}, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		from.Reset(sent)
		reader.Reset(from)
		rc.Response.Reset()
		if err := rc.Request.Read(reader); err != nil {
			b.Fatal(err)
		}
		serve(&rc)
	}
	if rc.Response.StatusCode() != fasthttp.StatusOK {
		b.Fatalf("%d %s", rc.Response.StatusCode(), rc.Response.Body())
	}
	b.SetBytes(int64(len(rc.Response.Body())))
}

func BenchmarkEvaluate(b *testing.B) {
	benchmark(b, evaluatePath+"?clientId=public-1&key=flag-042"+benchPerson)
}

func BenchmarkEvaluateWithProperties(b *testing.B) {
	benchmark(b, evaluatePath+"?clientId=public-1&key=flag-042"+benchPerson+
		"&properties=%7B%22plan%22%3A%22pro%22%2C%22age%22%3A41%2C%22beta%22%3Atrue%7D")
}

func BenchmarkBulk(b *testing.B) { benchmark(b, bulkPath+"?clientId=public-1"+benchPerson) }

func BenchmarkBulkByKeys(b *testing.B) {
	benchmark(b, bulkPath+"?clientId=public-1&keys=flag-001,flag-042,flag-077"+benchPerson)
}
