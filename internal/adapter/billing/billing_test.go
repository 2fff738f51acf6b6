package billing

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve returns a client of a service that answers by handle.
func serve(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	c := New(Config{URL: s.URL + "/allowance?of=millrace", Token: "s3cret", Timeout: time.Minute})
	t.Cleanup(c.Close)
	return c
}

func TestTheQuestionIsAsDocumented(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.RequestURI != "/allowance?of=millrace" ||
			string(body) != `{"organizationId":"org_1"}` ||
			r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("%s %s %s, %v", r.Method, r.RequestURI, body, r.Header)
		}
		_, _ = io.WriteString(w, `{"allowed":true,"reason":"paid"}`)
	})
	for range 2 { // the second time on the same connection
		if ok, err := c.Allowed(t.Context(), "org_1"); !ok || err != nil {
			t.Errorf("Allowed() = %v, %v", ok, err)
		}
	}
}

func TestOnlyTheServicesOwnWordIsAResponse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		body   string
		allows bool
		fails  bool
	}{
		"yes":                   {200, `{"allowed":true}`, true, false},
		"no":                    {200, `{"allowed":false}`, false, false},
		"nothing":               {200, ``, false, true},
		"another word":          {200, `{"allow":true}`, false, true},
		"a text":                {200, `{"allowed":"true"}`, false, true},
		"null":                  {200, `{"allowed":null}`, false, true},
		"a page":                {200, `<html>`, false, true},
		"more than one":         {200, `{"allowed":true}{"allowed":false}`, false, true},
		"too long":              {200, `{"allowed":true,"x":"` + strings.Repeat("x", maxBody) + `"}`, false, true},
		"an error that says so": {500, `{"allowed":true}`, false, true},
		"a payment required":    {402, `{"allowed":false}`, false, true},
		"a redirect":            {302, `{"allowed":true}`, false, true},
		"no content":            {204, ``, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://example.com/")
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			ok, err := c.Allowed(t.Context(), "org_1")
			if ok != tc.allows || (err != nil) != tc.fails {
				t.Errorf("Allowed() = %v, %v", ok, err)
			}
		})
	}
}

func TestAServiceThatDoesNotAnswerIsAnErrorWithoutSecrets(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees the end only behind the body
		cancel()
		<-r.Context().Done()
	})
	gone := New(Config{URL: "http://user:s3cret@127.0.0.1:1/", Token: "s3cret", Timeout: time.Minute})
	defer gone.Close()
	for name, ask := range map[string]func() (bool, error){
		"silent": func() (bool, error) { return silent.Allowed(ctx, "org_1") },
		"gone":   func() (bool, error) { return gone.Allowed(t.Context(), "org_1") },
	} {
		ok, err := ask()
		if ok || err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: Allowed() = %v, %v", name, ok, err)
		}
	}
}
