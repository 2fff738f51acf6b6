package privacy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tests/harness"
)

// person is what callers say of somebody whom flags are evaluated for, wherever they may say
// something: no log, trace, topic or table may hold it.
const (
	person      = "contextprobe"
	personEmail = person + "@person.example"
)

// flagged evaluates flags for the person by every public route, well and badly.
func flagged(t *testing.T, s *harness.System) {
	t.Helper()
	makeFlag(t, s)
	for _, key := range []string{"", s.Key} {
		for _, target := range flagTargets(s) {
			send(t, http.MethodGet, s.QueryURL+target, key, addressV4, "")
		}
		for path, bodies := range flagBodies(s) {
			for _, body := range bodies {
				send(t, http.MethodPost, s.QueryURL+path, key, addressV6, body)
			}
		}
		streamed(t, s, key)
	}
	// This one's response may repeat what it was asked.
	body := `{"key":"probed","websiteId":"` + s.WebsiteID + `","context":` + flagContext + `,"explain":true}`
	a, err := harness.Post(t.Context(), s.QueryURL+"/rpc/flags/evaluate", s.Key, []byte(body))
	if err != nil || a.Status != http.StatusOK {
		t.Errorf("flags/evaluate: %d %s, %v", a.Status, a.Body, err)
	}
}

// exposed waits until it is counted what the person was given.
func exposed(t *testing.T, s *harness.System) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		if n := count(t, s, "flag_exposures", "name = 'probed' AND startsWith(profile_id, 'email:')"); n == 0 {
			return errors.New("no exposure of the person is there")
		}
		return nil
	})
}

// flagContext is a context of the management operation.
const flagContext = `{"userId":"` + personEmail + `","email":"` + personEmail + `","anonymousId":"anon_` + person +
	`","attributes":{"` + person + `":["` + personEmail + `"]}}`

// makeFlag makes a flag of which everybody is exposed to a variant.
func makeFlag(t *testing.T, s *harness.System) {
	t.Helper()
	call := func(operation, body string) (id string) {
		t.Helper()
		a, err := harness.Post(t.Context(), s.QueryURL+"/rpc/flags/"+operation, s.Key, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var made struct{ Data struct{ ID string } }
		if err := json.Unmarshal(a.Body, &made); err != nil || made.Data.ID == "" {
			t.Fatalf("flags/%s: %d %s, %v", operation, a.Status, a.Body, err)
		}
		return made.Data.ID
	}
	id := call("create", `{"key":"probed","type":"boolean","websiteId":"`+s.WebsiteID+`","exposures":{"mode":"all"},
		"rules":[{"conditions":{"all":[{"attribute":"plan","op":"eq","values":["pro"]}]},"serve":{"variant":"on"}},
			{"serve":{"split":[{"variant":"on","weight":50},{"variant":"off","weight":50}]}}]}`)
	call("enable", `{"id":"`+id+`"}`)
	testkit.Eventually(t, time.Minute, func() error {
		a, err := harness.Get(t.Context(), s.QueryURL+"/public/v1/flags/evaluate?key=probed&clientId="+s.ClientID, "")
		if err == nil && strings.Contains(string(a.Body), "FLAG_NOT_FOUND") {
			err = fmt.Errorf("the flag is not served yet: %s", a.Body)
		}
		return err
	})
}

// flagTargets are what is got of the person.
func flagTargets(s *harness.System) (targets []string) {
	who := url.Values{
		"userId": {personEmail}, "email": {personEmail}, "anonymousId": {"anon_" + person}, "organizationId": {person},
		"teamId": {person}, "environment": {person}, person: {personEmail},
		"properties": {`{"email":"` + personEmail + `","` + person + `":["` + person + `"]}`},
	}
	long := strings.Repeat(person, 30)
	for _, route := range []string{"evaluate?key=probed", "bulk?keys=probed", "bulk?", "definitions?", "nothing?"} {
		begin := "/public/v1/flags/" + route + "&clientId="
		for _, end := range []string{
			"", "&userId=" + long, "&environment=" + long, "&key=" + long, "&keys=" + long, "&properties=" + person,
			"&email=%" + person,
		} {
			targets = append(targets, begin+s.ClientID+"&"+who.Encode()+end)
		}
		targets = append(
			targets, begin+person+"&"+who.Encode(), begin+"&"+who.Encode(), begin+s.ClientID+"&email="+personEmail,
		)
	}
	return targets
}

// flagBodies are what is posted of the person, by path.
func flagBodies(s *harness.System) map[string][]string {
	said := `"` + personEmail + `"`
	contexts := []string{
		`{"context":{"targetingKey":` + said + `,"email":` + said + `,"anonymousId":` + said + `,"environment":` + said +
			`,"` + person + `":[` + said + `]}}`,
		`{"context":{"email":` + said + `}}`, `{"context":{"email":[` + said + `]}}`,
		`{"context":{"` + person + `":{` + said + `:1}}}`,
		`{"context":` + said + `}`, `{"context":{"email":` + said, person,
	}
	ofrep := "/public/v1/flags/" + s.ClientID + "/ofrep/v1/evaluate/flags"
	return map[string][]string{
		ofrep: contexts, ofrep + "/probed": contexts, ofrep + "/nothing": contexts, ofrep + "/" + person + "/more": contexts,
		"/public/v1/flags/" + person + "/ofrep/v1/evaluate/flags": contexts,
		"/public/v1/flags/exposures?clientId=" + s.ClientID: {
			`[{"flag":"probed","variant":"on","userId":` + said + `}]`,
			`[{"flag":"probed","variant":"off","anonymousId":` + said + `,"environment":` + said + `}]`,
			`[{"flag":` + said + `,"variant":` + said + `,"userId":` + said + `}]`,
			`[{"userId":` + said + `}]`, `{"userId":` + said, person,
		},
	}
}

// streamed opens a stream and says of the person what a caller may say there.
func streamed(t *testing.T, s *harness.System, key string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	target := s.QueryURL + "/public/v1/flags/stream?clientId=" + s.ClientID + "&since=" + person + "&userId=" + personEmail
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", personEmail)
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	resp, err := harness.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "retry:") {
		t.Errorf("the stream is answered %d, begins with %q, %v", resp.StatusCode, line, err)
	}
	discreet(t, "the stream", line)
}
