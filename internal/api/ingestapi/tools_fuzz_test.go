package ingestapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// FuzzToolArguments sends any arguments to each tool: the answer is a result, or an error that names what
// is wrong, and what reaches the intake is JSON.
func FuzzToolArguments(f *testing.F) {
	all := Tools()
	for _, arguments := range []string{
		`{}`, `null`, `[]`, `{"name":"signup","websiteId":"web_1","properties":{"plan":"pro"}}`,
		`{"events":[{"name":"a"},{"name":7}],"websiteId":null}`, `{"events":[[],{}]}`, `{"events":{}}`,
		`{"path":"https://example.com/","eventId":""}`, `{"profileId":"u","traits":{"a":null}}`,
		`{"sessionId":"s","sessionId":"t"}`, `{"name":"\u0000","nam":1}`, `{"websiteId":"a&b=c"}`,
	} {
		for i := range all {
			f.Add(uint(i), arguments)
		}
	}
	f.Fuzz(func(t *testing.T, tool uint, arguments string) {
		if !json.Valid([]byte(arguments)) {
			return // the protocol rejects the message
		}
		var r recorder
		status, body := r.post(t, Config{}, "all", all[tool%uint(len(all))].Name, arguments)
		if status >= http.StatusInternalServerError || strings.Contains(string(body), `{\"error\":{\"code\":\"internal\"`) {
			t.Fatalf("%d %s", status, body)
		}
		if r.body != "" && !json.Valid([]byte(r.body)) {
			t.Fatalf("the intake got %q", r.body)
		}
	})
}
