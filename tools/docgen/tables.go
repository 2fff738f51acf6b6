package main

import (
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/api/ingestapi"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

func configPage(string) (string, error) {
	d := newDocument("Settings", "`internal/platform/config/settings.go`")
	d.paragraph("Every daemon accepts every setting and reads the ones it needs, so one file serves a\n" +
		"whole deployment. A setting has one name in three spellings: `kafka.brokers` in a YAML\n" +
		"file, `MILLRACE_KAFKA_BROKERS` in the environment, `--kafka.brokers` as a flag. Flags\n" +
		"override the environment, the environment overrides the file, and the file overrides\n" +
		"the defaults. A name that is not in this table is an error. Daemons ignore the\n" +
		"variables that Kubernetes adds for services (`MILLRACE_…_SERVICE_HOST`,\n" +
		"`MILLRACE_…_PORT…`).")
	d.paragraph("Write durations as `250ms`, `5s` or `1h`, and lists as `a,b` or as a YAML list. Name the\n" +
		"file with `--config.file` or `MILLRACE_CONFIG_FILE`. `--config.check` prints `ok` or\n" +
		"every problem; `--config.print` prints every value and its source. Secrets are never\n" +
		"printed.")
	section := ""
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			d.heading(section)
			d.table([]string{"Setting and variable", "Type", "Default", "Meaning"}, rows)
		}
		rows = nil
	}
	for _, f := range config.Fields() {
		if first, _, _ := strings.Cut(f.Key, "."); first != section {
			flush()
			section = first
		}
		help := f.Help
		if f.Allowed != "" {
			help += " Accepts " + f.Allowed + "."
		}
		rows = append(rows, []string{code(f.Key) + "<br>" + code(f.Env), f.Type, code(f.Default), help})
	}
	flush()
	return d.String(), nil
}

func errorsPage(string) (string, error) {
	d := newDocument("Errors", "`internal/api/httpkit/codes.go` and `internal/api/httpkit/checks.go`")
	d.paragraph("Every response with an error has one of these codes. Distinguish errors by `code`: messages\n" +
		"are for people and may change. If an error is retryable, the same request may succeed later.\n" +
		"If the response has `Retry-After`, wait for that number of seconds.")
	var rows [][]string
	for _, r := range httpkit.Codes {
		message := code(r.Message)
		if r.Ingestion != "" {
			message = "query: " + message + "<br>ingestion: " + code(r.Ingestion)
		}
		retry := "no"
		if r.Retryable() {
			retry = "yes"
		}
		if r.RetryAfter > 0 {
			retry += ", after " + r.RetryAfter.String()
		}
		rows = append(rows,
			[]string{code(string(r.Code)), strconv.Itoa(r.Status), message, retry, strings.TrimSpace(r.Meaning + " " + r.Fix)})
	}
	d.table([]string{"Code", "Status", "Message", "Retryable", "Meaning"}, rows)
	d.paragraph("Two codes also occur with another status. `GET /px.jpg` returns its image instead of 431:")
	d.table([]string{"Code", "Status", "Message", "Retryable", "Meaning"}, [][]string{
		{
			code("DEADLINE_EXCEEDED"), "408", code("The request did not arrive in time"), "yes, after 1s",
			"The header, or the beginning of the body, arrived too slowly.",
		},
		{
			code("VALIDATION_ERROR"), "431", code("The request's header is too large"), "no",
			"The header, with the query string, exceeds 8 KiB on the ingestion host or 16 KiB on another host.",
		},
	})
	checksTable(d)
	return d.String(), nil
}

// checksTable lists the checks of a request in their order.
func checksTable(d *document) {
	d.heading("The order of checks")
	d.paragraph("A host makes these checks in this order, and returns the error of the first check that fails.\n" +
		"Rights may change while a request arrives. The host then applies the rights at the end of\n" +
		"the request's body, and for a change of a record, the rights at the moment of the change.")
	surfaces := []httpkit.Surface{httpkit.Management, httpkit.Queries, httpkit.Flags, httpkit.Intake}
	var rows [][]string
	for _, c := range httpkit.Checks {
		row := []string{c.Name}
		for _, s := range surfaces {
			made := ""
			if c.On&s != 0 {
				made = "yes"
			}
			row = append(row, made)
		}
		codes := make([]string, len(c.Codes))
		for i := range c.Codes {
			codes[i] = code(string(c.Codes[i]))
		}
		rows = append(rows, append(row, c.Asks, strings.Join(codes, ", ")))
	}
	d.table([]string{
		"Check", code("POST /rpc/…"), code("/v1/query…"), code("/public/v1/flags/…"), "routes that take events",
		"Passes when", "Rejects with",
	}, rows)
	d.paragraph("A route makes only the checks that apply to it. For example, " + code("GET /v1/query/websites") +
		" has no body.\n" + code("GET /px.jpg") + " returns its image instead of an error that is not retryable.")
}

func limitsPage(string) (string, error) {
	d := newDocument("Limits", "`internal/contract/event/limits.go` and `internal/contract/event/forms.go`")
	d.paragraph("What one request to the ingestion host may hold. Lengths are counted in Unicode code\n" +
		"points, sizes in bytes; both bounds are allowed values. Texts that a page or a script\n" +
		"chooses, and not who sends them, are cut instead of refused.")
	d.heading("Every body")
	limitTable(d, event.BodyLimits)
	for _, f := range event.Forms {
		d.heading(strings.Join(takers(f), " and "))
		limitTable(d, f.Limits())
	}
	nameTable(d)
	rateTable(d)
	return d.String(), nil
}

func limitTable(d *document, limits []event.Limit) {
	var rows [][]string
	for _, l := range limits {
		beyond := strconv.Itoa(l.Status)
		if l.Status == 0 {
			beyond = "cut"
		}
		least := ""
		if n, ok := l.AtLeast(); ok {
			least = grouped(n)
		}
		rows = append(rows, []string{l.Name, least, bound(l.Max), l.Unit, beyond, l.Note})
	}
	d.table([]string{"What", "At least", "At most", "Unit", "Beyond it", "Note"}, rows)
}

// takers are the routes that take the items of a form.
func takers(f *event.Form) []string {
	var all []string
	for _, r := range ingestapi.Routes {
		if r.In != nil && r.In.Form == f {
			all = append(all, code(r.Method+" "+r.Path))
		}
	}
	return all
}

// shapes says what a body is.
var shapes = map[event.Shape]string{
	event.One: "one object", event.Many: "an array of objects", event.OneOrMany: "an object, or an array of them",
}

func ingestionPage(string) (string, error) {
	d := newDocument("The ingestion host", "`internal/api/ingestapi/routes.go` and `internal/contract/event/forms.go`")
	d.paragraph("The routes of the ingestion host, and the fields that they accept. See also [Sending\n" +
		"events](../guides/sending-events.md), [Errors](errors.md) and [Limits](limits.md). The host\n" +
		"serves its OpenAPI document at `/openapi.json`.")
	d.paragraph("Routes that take events accept an API key with the scope `track:events`, in `x-api-key`\n" +
		"or as a Bearer token, or the client id of a website: in the query as `website_id` or\n" +
		"`client_id`, else in a header (`ingest.client_id_headers`). " + code("POST /track") + " and\n" +
		code("POST /identify") + " also take it from the body, as `websiteId`.")
	var rows [][]string
	for _, r := range ingestapi.Routes {
		credential, body, topic, limit := "none", "", "", ""
		if r.In != nil {
			credential = "API key or client id"
			body, topic, limit = shapes[r.In.Shape], code(r.Topic), code(ratelimit.Families[r.In.Family].Known)
			if r.Method == "GET" {
				body, topic = "none; fields in the query", "by its type"
			}
		}
		rows = append(rows, []string{code(r.Method), code(r.Path), r.Help, credential, body, topic, limit})
	}
	d.table([]string{"Method", "Path", "Does", "Credential", "Body", "Topic", "Limit"}, rows)
	d.paragraph("For `GET /px.jpg`, the parameter `type` selects a row of this table; the default is the first\n" +
		"row. A parameter without a value (`rtt=`) counts as absent, unless its field is required. If the\n" +
		"header with the query is longer than 8 KiB, the host returns the image and stores nothing. On\n" +
		"other routes, it [returns 431](errors.md).")
	rows = nil
	for _, t := range ingestapi.PixelTypes {
		rows = append(rows,
			[]string{code("type=" + t.Name), code(t.Topic), "as of " + strings.Join(takers(t.In.Form), " and ")})
	}
	d.table([]string{"Type", "Topic", "Fields"}, rows)
	for _, f := range event.Forms {
		d.heading("Fields: " + strings.Join(takers(f), " and "))
		var rows [][]string
		for i := range f.Fields {
			field := &f.Fields[i]
			required := ""
			if field.Required {
				required = "yes"
			}
			rows = append(rows, []string{code(field.Name), field.Type.String(), required, said(field)})
		}
		d.table([]string{"Field", "Type", "Required", "Meaning"}, rows)
	}
	return d.String(), nil
}

// said is the note of a field, with the words that it may be.
func said(f *event.Field) string {
	note := f.Note
	if f.Required { // which has a column of its own
		note = strings.TrimPrefix(strings.TrimPrefix(note, "required"), "; ")
	}
	if len(f.Words) == 0 {
		return note
	}
	words := make([]string, len(f.Words))
	for i, w := range f.Words {
		words[i] = code(w)
	}
	return strings.TrimSuffix(strings.Join(words, ", ")+"; "+note, "; ")
}

// rateTable lists how often callers may ask.
func rateTable(d *document) {
	byKey := map[string]config.Field{}
	for _, f := range config.Fields() {
		byKey[f.Key] = f
	}
	figure := func(key string) string { return byKey[key].Default + " (" + code(key) + ")" }
	d.heading("Requests")
	d.paragraph("How many requests are admitted within any " + byKey["limits.window"].Default + " (" +
		code("limits.window") + ");\n" +
		"one more is answered 429. Each API key, each signed-in user and each address without a\n" +
		"credential is counted by itself, on the ingestion host each address for each website.\n" +
		"The figures are settings, made from `internal/tenant/ratelimit/family.go`; what they mean is\n" +
		"told in [Limits](../guides/limits.md).")
	var rows [][]string
	for _, f := range &ratelimit.Families {
		if f.Fixed > 0 {
			rows = append(rows, []string{f.Covers, strconv.Itoa(f.Fixed), ""})
			continue
		}
		rows = append(rows, []string{f.Covers, figure(f.Known), figure(f.Anonymous)})
	}
	rows = append(rows,
		[]string{
			"all of them together, for an API key whose own limit is enabled without a figure", figure("limits.key"), "",
		},
		[]string{"all of them together, at the same time, for one API key", figure("limits.concurrency"), ""})
	d.table([]string{"Requests to", "By a key or a user", "Without a credential"}, rows)
}

// nameTable says how many names a website may have.
func nameTable(d *document) {
	for _, f := range config.Fields() {
		if f.Key == "ingest.max_names" {
			d.heading("Names")
			d.paragraph("A website's events may have " + f.Default +
				" different names in a UTC day of receipt, as each edge counts\n" +
				"them (" + code(f.Key) + "), and its errors as many types. What comes under one more is accepted, counted\n" +
				"and stored under the name " + code("(other)") + ", with its own name in " + code("originalName") + "\n" +
				"([why](../adr/0021-names-beyond-a-limit-share-one.md)).")
		}
	}
}

// bound shows a limit with its thousands apart; 0 is none.
func bound(n int64) string {
	if n == 0 {
		return ""
	}
	return grouped(n)
}

// grouped writes a number with its digits in groups of three.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func scopesPage(string) (string, error) {
	d := newDocument("Scopes", "`internal/tenant/auth/scope.go`")
	d.paragraph("What an API key may be allowed to do. A key holds any number of them, for one\n" +
		"website or for the whole organization.")
	var rows [][]string
	for _, s := range auth.Scopes {
		rows = append(rows, []string{code(string(s.Scope)), s.Grants})
	}
	d.table([]string{"Scope", "Grants"}, rows)
	return d.String(), nil
}
