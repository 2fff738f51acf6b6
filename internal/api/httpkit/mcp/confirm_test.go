package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
)

// register is a record that the tools rename and drop change.
type register struct {
	version int64
	made    []Confirmed
	now     time.Time
}

// newConfirming serves the tools of a register to the keys writer and second.
func newConfirming(t *testing.T) (*host, *register) {
	t.Helper()
	r := &register{version: 7, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	tool := func(name string) Tool {
		return Tool{
			Name: name, Class: ratelimit.MCPWrites, Scopes: []auth.Scope{auth.ScopeWriteLinks}, Writes: true,
			Input: json.RawMessage(object),
			Preview: func(_ context.Context, c *Call) (*Preview, error) {
				if string(c.Arguments) == "{}" {
					return nil, nil //nolint:nilnil // needs no confirmation
				}
				return &Preview{
					Operation: name, Version: r.version, Question: "Rename it?", Record: map[string]int64{"version": r.version},
					Changes: []Change{{"name", json.RawMessage(`"old"`), json.RawMessage(`"new"`)}},
				}, nil
			},
			Run: func(_ context.Context, c *Call) (Answer, error) {
				change := Confirmed{}
				if c.Confirmed != nil {
					change = *c.Confirmed
				}
				r.made = append(r.made, change)
				return Answer{Record: c.Arguments}, nil
			},
		}
	}
	h := newHost(t, func(cfg *Config, deps *Deps) {
		cfg.Tools = []Tool{tool("drop"), tool("rename")}
		deps.Now = func() time.Time { return r.now }
		deps.Secret = func(context.Context) ([]byte, error) { return []byte("a secret of the store"), nil }
	})
	h.keys.set("second", "write:links")
	return h, r
}

// preview is the answer to a call that changes something.
type preview struct {
	Preview struct {
		Question string `json:"question"`
		Record   struct {
			Version int64 `json:"version"`
		} `json:"record"`
		Changes []Change `json:"changes"`
	} `json:"preview"`
	ConfirmToken string    `json:"confirmToken"`
	ExpiresAt    time.Time `json:"expiresAt"`
}

// result decodes the data of a call's answer, or the error.
func result(t *testing.T, got answer) (data json.RawMessage, failed *Error) {
	t.Helper()
	var response struct {
		Result struct {
			IsError bool `json:"isError"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			StructuredContent struct {
				Data json.RawMessage `json:"data"`
			} `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(got.Body), &response); err != nil {
		t.Fatalf("%v: %s", err, got.Body)
	}
	if !response.Result.IsError {
		return response.Result.StructuredContent.Data, nil
	}
	var failure struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal([]byte(response.Result.Content[0].Text), &failure); err != nil {
		t.Fatalf("%v: %s", err, got.Body)
	}
	return nil, failure.Error
}

func (h *host) preview(t *testing.T, tool, arguments string) (p preview) {
	t.Helper()
	data, failed := result(t, h.post(t, call(tool, arguments), "x-api-key", "writer"))
	if failed != nil || json.Unmarshal(data, &p) != nil || p.ConfirmToken == "" {
		t.Fatalf("the preview of %s: %s, %v", arguments, data, failed)
	}
	return p
}

func TestConfirm_MakesAChangeAfterItsPreview(t *testing.T) {
	t.Parallel()
	h, r := newConfirming(t)
	p := h.preview(t, "rename", `{"id":1,"name":"new"}`)
	if len(r.made) > 0 {
		t.Fatal("the first call made the change")
	}
	if p.Preview.Record.Version != 7 || len(p.Preview.Changes) != 1 || p.Preview.Question != "Rename it?" ||
		!p.ExpiresAt.Equal(r.now.Add(10*time.Minute)) {
		t.Errorf("preview %+v", p)
	}
	r.version++ // of another change: what was confirmed is the version of the preview
	for range 2 {
		confirming := fmt.Sprintf(`{"name" : "new", "confirmToken":%q, "id":1}`, p.ConfirmToken)
		data, failed := result(t, h.post(t, call("rename", confirming), "x-api-key", "writer"))
		if failed != nil || strings.Contains(string(data), "confirmToken") {
			t.Errorf("the confirmed call: %s, %v", data, failed)
		}
	}
	if len(r.made) != 2 || r.made[0] != r.made[1] || r.made[0].Version != 7 || r.made[0].Operation != "rename" ||
		len(r.made[0].Key) < 40 {
		t.Errorf("calls %+v", r.made)
	}
	if _, failed := result(t, h.post(t, call("rename", `{}`), "x-api-key", "writer")); failed != nil || len(r.made) != 3 {
		t.Errorf("a call that needs no confirmation: %v", failed)
	}
}

func TestConfirm_RejectsAnotherCall(t *testing.T) {
	t.Parallel()
	h, r := newConfirming(t)
	p := h.preview(t, "rename", `{"id":1,"name":"new"}`)
	with := func(arguments, token string) string {
		return strings.TrimSuffix(arguments, "}") + `,"confirmToken":` + token + `}`
	}
	token, other := `"`+p.ConfirmToken+`"`, "A"
	if p.ConfirmToken[0] == other[0] {
		other = "B"
	}
	const same = `{"id":1,"name":"new"}`
	for name, c := range map[string]struct{ tool, key, arguments string }{
		"another argument":         {"rename", "writer", with(`{"id":2,"name":"new"}`, token)},
		"one more argument":        {"rename", "writer", with(`{"id":1,"name":"new","url":""}`, token)},
		"another number":           {"rename", "writer", with(`{"id":1.0,"name":"new"}`, token)},
		"another tool":             {"drop", "writer", with(same, token)},
		"another caller":           {"rename", "second", with(same, token)},
		"a token that was changed": {"rename", "writer", with(same, `"`+other+p.ConfirmToken[1:]+`"`)},
		"a token that was cut":     {"rename", "writer", with(same, `"`+p.ConfirmToken[:8]+`"`)},
		"an empty token":           {"rename", "writer", with(same, `""`)},
		"a token that is no text":  {"rename", "writer", with(same, `true`)},
		"a token that is null":     {"rename", "writer", with(same, `null`)},
	} {
		_, failed := result(t, h.post(t, call(c.tool, c.arguments), "x-api-key", c.key))
		if failed == nil || failed.Code != InvalidInput || failed.Details[0].Field != "confirmToken" {
			t.Errorf("%s: %+v", name, failed)
		}
	}
	r.now = r.now.Add(ConfirmFor - time.Second)
	if _, failed := result(t, h.post(t, call("rename", with(same, token)), "x-api-key", "writer")); failed != nil {
		t.Errorf("in the last second: %v", failed)
	}
	r.now = r.now.Add(time.Second)
	_, failed := result(t, h.post(t, call("rename", with(same, token)), "x-api-key", "writer"))
	if failed == nil || failed.Code != InvalidInput || !strings.Contains(failed.Message, "expired") {
		t.Errorf("after 10 minutes: %v", failed)
	}
	if len(r.made) != 1 {
		t.Errorf("%d changes were made, want one", len(r.made))
	}
}

func TestConfirm_ShowsAFormWhereTheClientCan(t *testing.T) {
	t.Parallel()
	h, r := newConfirming(t)
	send := func(capabilities, more string) answer {
		body, header := modern("tools/call", `"name":"rename","arguments":{"id":1}`+more)
		body = strings.Replace(body, `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1)
		header[len(header)-1] = "writer"
		return h.post(t, body, append(header, "Mcp-Name", "rename")...)
	}
	const forms = `{"elicitation":{"form":{}}}`
	for _, capabilities := range []string{forms, `{"elicitation":{}}`} {
		got := send(capabilities, "")
		var response struct {
			Result struct {
				ResultType    string `json:"resultType"`
				RequestState  string `json:"requestState"`
				InputRequests map[string]struct {
					Method string `json:"method"`
					Params struct {
						Message string `json:"message"`
					} `json:"params"`
				} `json:"inputRequests"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(got.Body), &response); err != nil {
			t.Fatalf("%v: %s", err, got.Body)
		}
		form := response.Result.InputRequests["confirm"]
		if response.Result.ResultType != "input_required" || form.Method != "elicitation/create" ||
			form.Params.Message != "Rename it?\nRecord: {\"version\":7}\nname: \"new\" (now \"old\")" {
			t.Fatalf("%s: %s", capabilities, got.Body)
		}
		state := fmt.Sprintf(`,"requestState":%q`, response.Result.RequestState)
		made := len(r.made)
		for _, c := range []struct {
			action string
			makes  int
		}{{"decline", 0}, {"cancel", 0}, {"accept", 1}} {
			got := send(capabilities, state+`,"inputResponses":{"confirm":{"action":"`+c.action+`","content":{}}}`)
			if data, failed := result(t, got); failed != nil || len(r.made) != made+c.makes ||
				strings.Contains(string(data), `"confirmed":false`) != (c.makes == 0) {
				t.Errorf("%s, %s: %d changes, %s", capabilities, c.action, len(r.made), got.Body)
			}
		}
		if _, failed := result(t, send(capabilities, state)); failed == nil || failed.Details[0].Field != "inputResponses" {
			t.Errorf("a state without a response: %v", failed)
		}
		asToken := fmt.Sprintf(`{"id":1,"confirmToken":%q}`, response.Result.RequestState)
		_, failed := result(t, h.post(t, call("rename", asToken), "x-api-key", "writer"))
		if failed == nil || failed.Code != InvalidInput || len(r.made) != made+1 {
			t.Errorf("a state as confirmToken: %v, %d changes", failed, len(r.made)-made)
		}
	}
	for _, capabilities := range []string{`{}`, `{"elicitation":{"url":{}}}`} {
		if got := send(capabilities, ""); !strings.Contains(got.Body, `"confirmToken"`) {
			t.Errorf("a client with the capabilities %s: %s", capabilities, got.Body)
		}
	}
}

func TestClip_ShowsBothEnds(t *testing.T) {
	t.Parallel()
	url := "https://www.example.com:" + strings.Repeat("a", 300) + "@evil.example/?a=1&b=2"
	got := readable(json.RawMessage(strings.ReplaceAll(fmt.Sprintf("%q", url), "&", `\u0026`)))
	for _, want := range []string{`"https://www.example.com:aaa`, " characters … ", `@evil.example/?a=1&b=2"`} {
		if !strings.Contains(got, want) || len([]rune(got)) > 340 {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if got := clip("äöü", 3); got != "äöü" {
		t.Errorf("a text of the most characters became %q", got)
	}
}
