package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// answer is the result of a tool's call.
type answer struct {
	// Data is a record, or the preview of a change.
	Data struct {
		ID, Name, Status, Key string
		Version               int64
		Targets               json.RawMessage
		Preview               struct {
			Question string
			Changes  []struct {
				Field string
				To    json.RawMessage
			}
		}
		ConfirmToken string
	}
	Error struct{ Code, Message string }
}

// call calls a tool with a key.
func (s *system) call(t *testing.T, key, tool, arguments string) (a answer) {
	t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.endpoint, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "X-Api-Key": {key},
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var response struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.NewDecoder(res.Body).Decode(&response); err != nil || len(response.Result.Content) != 1 ||
		json.Unmarshal([]byte(response.Result.Content[0].Text), &a) != nil {
		t.Fatalf("%s %s: %s, %+v, %v", tool, arguments, res.Status, response, err)
	}
	return a
}

// confirm repeats a call with the token of its preview.
func (s *system) confirm(t *testing.T, key, tool, arguments string, preview answer) answer {
	t.Helper()
	if preview.Data.ConfirmToken == "" {
		t.Fatalf("%s %s has no preview: %+v", tool, arguments, preview)
	}
	return s.call(t, key, tool, fmt.Sprintf(`%s,"confirmToken":%q}`, strings.TrimSuffix(arguments, "}"), preview.Data.ConfirmToken))
}

// change makes a change that must be confirmed, and returns the record.
func (s *system) change(t *testing.T, tool, arguments, question string) answer {
	t.Helper()
	key := s.NewKey(t)
	preview := s.call(t, key, tool, arguments)
	if !strings.HasPrefix(preview.Data.Preview.Question, question) {
		t.Errorf("%s %s asks %q, want %q", tool, arguments, preview.Data.Preview.Question, question)
	}
	changed := s.confirm(t, key, tool, arguments, preview)
	if changed.Error.Code != "" {
		t.Errorf("%s %s: %+v", tool, arguments, changed.Error)
	}
	return changed
}

// runWrites changes records with each tool. A key may make ten calls a minute, so there are several.
func (s *system) runWrites(t *testing.T) {
	t.Parallel()
	t.Run("a link", s.writeLink)
	t.Run("a flag", s.writeFlag)
}

func (s *system) writeLink(t *testing.T) {
	key := s.NewKey(t)
	made := s.call(t, key, "save_link", `{"url":"https://example.com/","name":"first"}`)
	if made.Data.ID == "" || made.Data.Version != 1 {
		t.Fatalf("a new link: %+v", made)
	}
	rename := func(name string) string { return fmt.Sprintf(`{"id":%q,"name":%q}`, made.Data.ID, name) }
	preview := s.call(t, key, "save_link", rename("second"))
	stale := s.call(t, key, "save_link", rename("third"))
	for range 2 {
		changed := s.confirm(t, key, "save_link", rename("second"), preview)
		if changed.Data.Name != "second" || changed.Data.Version != 2 {
			t.Errorf("a confirmed change, also repeated: %+v", changed)
		}
	}
	if got := s.confirm(t, key, "save_link", rename("third"), stale); got.Error.Code != "conflict" {
		t.Errorf("a preview of an earlier version: %+v", got)
	}
	if got := s.confirm(t, key, "save_link", rename("other"), preview); got.Error.Code != "invalid_input" {
		t.Errorf("a preview of other arguments: %+v", got)
	}
	if got := s.confirm(t, s.Key, "save_link", rename("second"), preview); got.Error.Code != "invalid_input" {
		t.Errorf("a preview of another key: %+v", got)
	}
	if got := s.call(t, s.ForeignKey, "save_link", rename("mine")); got.Error.Code != "not_found" {
		t.Errorf("another organization's link: %+v", got)
	}
	if got := s.call(t, s.ForeignKey, "delete_link", `{"id":"`+made.Data.ID+`"}`); got.Error.Code != "not_found" {
		t.Errorf("the deletion of another organization's link: %+v", got)
	}
	blind := s.NewKey(t, "write:links")
	if got := s.call(t, blind, "delete_link", `{"id":"`+made.Data.ID+`"}`); got.Error.Code != "forbidden" ||
		!strings.Contains(got.Error.Message, "read:links") {
		t.Errorf("a key that may not read links: %+v", got)
	}
	if got := s.call(t, s.WebsiteKey, "delete_link", rename("mine")); got.Error.Code != "forbidden" {
		t.Errorf("a key of one website: %+v", got)
	}
	for arguments, message := range map[string]string{
		`{}`:                    "url is required",
		`{"url":"ftp://x.y"}`:   "url must",
		`{"id":"lnk_none"}`:     "Link not found",
		`{"id":"x","links":[]}`: "Unknown field: links",
	} {
		if got := s.call(t, s.Key, "save_link", arguments); !strings.Contains(got.Error.Message, message) {
			t.Errorf("save_link %s: %+v, want %q", arguments, got.Error, message)
		}
	}
	deletion := fmt.Sprintf(`{"id":%q}`, made.Data.ID)
	if got := s.change(t, "delete_link", deletion, "Delete "); got.Data.Status != "deleted" {
		t.Errorf("a deleted link: %+v", got)
	}
}

func (s *system) writeFlag(t *testing.T) {
	key := s.NewKey(t)
	made := s.call(t, key, "save_flag", `{"key":"checkout","type":"boolean","websiteId":"`+s.WebsiteID+`"}`)
	if made.Data.ID == "" || made.Data.Status != "inactive" {
		t.Fatalf("a new flag: %+v", made)
	}
	with := func(members string) string { return fmt.Sprintf(`{"id":%q,%s}`, made.Data.ID, members) }
	if got := s.change(t, "save_flag", with(`"name":"Checkout"`), "Change checkout?"); got.Data.Name != "Checkout" {
		t.Errorf("a renamed flag: %+v", got)
	}
	for _, status := range []struct{ to, question string }{
		{"active", "Enable checkout?"},
		{"inactive", "Disable checkout?"},
		{"archived", "Archive checkout?"},
		{"inactive", "Unarchive checkout?"},
	} {
		got := s.change(t, "set_flag_status", with(`"status":"`+status.to+`"`), status.question)
		if got.Data.Status != status.to {
			t.Errorf("the flag became %s, want %s", got.Data.Status, status.to)
		}
	}
	for _, c := range []struct{ members, question, changes, want string }{
		{
			`"variant":"on","userIds":["u1","U1"]`, "Give 2 users the variant on of checkout?", `userIds that get on ["u1","U1"]`,
			`[{"variant":"on","userIds":["u1","U1"]}]`,
		},
		{
			`"variant":"off","userIds":["u1"],"mode":"append"`, "Give 1 user the variant off of checkout?",
			`userIds that get off ["u1"]; users that lose on ["u1"]`,
			`[{"variant":"on","userIds":["U1"]},{"variant":"off","userIds":["u1"]}]`,
		},
		{
			`"variant":"on","emails":["A@x.example"],"mode":"replace"`, "Give only 1 user the variant on of checkout?",
			`emails that get on ["A@x.example"]; users that lose on ["U1"]`,
			`[{"variant":"on","emails":["A@x.example"]},{"variant":"off","userIds":["u1"]}]`,
		},
		{
			`"emails":["a@X.example"],"mode":"remove"`, "Remove 1 user from the targets of checkout?",
			`users that lose on ["A@x.example"]`, `[{"variant":"off","userIds":["u1"]}]`,
		},
	} {
		preview := s.call(t, s.NewKey(t), "set_flag_targets", with(c.members))
		var changes []string
		for _, change := range preview.Data.Preview.Changes {
			changes = append(changes, change.Field+" "+string(change.To))
		}
		if got := strings.Join(changes, "; "); got != c.changes {
			t.Errorf("set_flag_targets %s shows %s, want %s", c.members, got, c.changes)
		}
		got := s.change(t, "set_flag_targets", with(c.members), c.question)
		if string(got.Data.Targets) != c.want {
			t.Errorf("targets after %s: %s, want %s", c.members, got.Data.Targets, c.want)
		}
	}
	for arguments, message := range map[string]string{
		`"key":"other","name":"x"`: "Unknown field: key",
		`"name":"Checkout"`:        "The call changes nothing",
	} {
		if got := s.call(t, key, "save_flag", with(arguments)); !strings.Contains(got.Error.Message, message) {
			t.Errorf("save_flag %s: %+v, want %q", arguments, got.Error, message)
		}
	}
	for members, message := range map[string]string{
		`"userIds":["u1"]`:                                "variant is required",
		`"userIds":[{}],"variant":"on"`:                   "userIds[0] must be",
		`"userIds":["u1"],"variant":"on","mode":"remove"`: "Unknown field: variant",
	} {
		if got := s.call(t, s.NewKey(t), "set_flag_targets", with(members)); !strings.Contains(got.Error.Message, message) {
			t.Errorf("set_flag_targets %s: %+v, want %q", members, got.Error, message)
		}
	}
	for members, message := range map[string]string{
		`"status":"inactive"`: "status must be another one; the flag is inactive already",
		`"status":"on"`:       "status must be one of",
	} {
		if got := s.call(t, key, "set_flag_status", with(members)); !strings.Contains(got.Error.Message, message) {
			t.Errorf("set_flag_status %s: %+v, want %q", members, got.Error, message)
		}
	}
	for tool, members := range map[string]string{
		"set_flag_status": `"status":"active"`, "set_flag_targets": `"variant":"on","userIds":["u1"]`, "save_flag": `"name":"x"`,
	} {
		if got := s.call(t, s.ForeignKey, tool, with(members)); got.Error.Code != "not_found" {
			t.Errorf("%s of another organization's flag: %+v", tool, got)
		}
	}
}
