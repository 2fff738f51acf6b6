package ingestapi

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/event"
	"github.com/millrace/millrace/internal/pipeline/ingest"
	"github.com/millrace/millrace/internal/testkit"
)

// register is an Intake that keeps what it was asked.
type register struct {
	accepted []ingest.Request
	rejected []error
}

func (r *register) Accept(_ context.Context, req ingest.Request) (ingest.Result, error) {
	r.accepted = append(r.accepted, req)
	return ingest.Result{Count: 1}, nil
}

func (r *register) Reject(_ context.Context, _ ingest.Request, why error) {
	r.rejected = append(r.rejected, why)
}

func TestAPixelIsTakenByItsTypeAndCountedAlsoWhereItHasNone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		query string
		route *ingest.Route // nil for rejected
	}{
		{"name=x", ingest.PixelPage},
		{"type=track&name=x", ingest.PixelPage},
		{"type=outgoing_link&href=https://x.example/", ingest.PixelPage},
		{"type=web_vitals&metricName=LCP", ingest.PixelVital},
		{"type=error&message=x", ingest.PixelError},
		{"type=pageview&name=x", nil},
	} {
		t.Run(tc.query, func(t *testing.T) {
			t.Parallel()
			to := &register{}
			app := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Intake: to})
			resp, err := app.Test(httptest.NewRequest(http.MethodGet, "/px.jpg?client_id=web_1&"+tc.query, http.NoBody))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "image/gif" {
				t.Errorf("the answer is %d, %s", resp.StatusCode, kind)
			}
			switch {
			case tc.route == nil:
				if len(to.accepted) > 0 || len(to.rejected) != 1 || !apierr.Is(to.rejected[0], apierr.Validation) {
					t.Errorf("%d were accepted, refused for %v, want one refusal", len(to.accepted), to.rejected)
				}
			case len(to.accepted) != 1 || to.accepted[0].Route != tc.route || len(to.rejected) > 0:
				t.Errorf("%d were accepted, %d refused, want one on %s", len(to.accepted), len(to.rejected), tc.route.Name)
			}
		})
	}
}

// troubled is a register at which each event meets something.
type troubled struct {
	register
	meets func() error
}

func (t *troubled) Accept(ctx context.Context, req ingest.Request) (ingest.Result, error) {
	if err := t.meets(); err != nil {
		return ingest.Result{}, err
	}
	return t.register.Accept(ctx, req)
}

func TestAPixelThatMayCountLaterSaysWhen(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	for _, tc := range []struct {
		name        string
		meets       func() error
		beside      bool // another request, for which alone there is room
		status      int
		least, most int // Retry-After
	}{
		{"a rejection", func() error { return apierr.New(apierr.DeliveryUnavailable) }, false, 503, 5, 5},
		{"a fault", func() error { return io.ErrUnexpectedEOF }, false, 500, 5, 5},
		{"a panic", func() error { panic("broken") }, false, 500, 5, 5}, //nolint:forbidigo // what a bug does
		{"no room", func() error { entered <- struct{}{}; <-leave; return nil }, true, 503, 2, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			app := New(Config{MaxInFlight: 1},
				Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Intake: &troubled{meets: tc.meets}})
			ask := func() (status int, retryAfter string) {
				resp, err := app.Test(httptest.NewRequest(http.MethodGet, "/px.jpg?client_id=web_1&name=x", http.NoBody), -1)
				if err != nil {
					t.Error(err)
					return 0, ""
				}
				resp.Body.Close()
				return resp.StatusCode, resp.Header.Get("Retry-After")
			}
			beside := make(chan int, 1)
			if tc.beside {
				go func() {
					status, _ := ask()
					beside <- status
				}()
				<-entered
			}
			status, retryAfter := ask()
			after, err := strconv.Atoi(retryAfter)
			if status != tc.status || err != nil || after < tc.least || after > tc.most {
				t.Errorf("the response is %d, Retry-After %q; want %d and %d to %d",
					status, retryAfter, tc.status, tc.least, tc.most)
			}
			if tc.beside {
				close(leave)
				if status := <-beside; status != http.StatusOK {
					t.Errorf("the request beside it has status %d", status)
				}
			}
		})
	}
}

func TestAskingForThePixelsHeaderCountsNothing(t *testing.T) {
	t.Parallel()
	to := &register{}
	app := New(Config{}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Intake: to})
	for _, query := range []string{"name=x", "type=pageview&name=x"} {
		resp, err := app.Test(httptest.NewRequest(http.MethodHead, "/px.jpg?client_id=web_1&"+query, http.NoBody), -1)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "image/gif" {
			t.Errorf("%s: the response is %d, %s", query, resp.StatusCode, kind)
		}
	}
	if len(to.accepted)+len(to.rejected) > 0 {
		t.Errorf("%d were accepted, %d rejected", len(to.accepted), len(to.rejected))
	}
}

func TestAPixelWhoseHeaderIsTooLongHasItsImageAndIsNotTaken(t *testing.T) {
	t.Parallel()
	to, addr, log := &register{}, testkit.FreeAddr(t), slog.New(slog.DiscardHandler)
	component := httpkit.ListenComponent("host", addr, "none",
		New(Config{}, Deps{Log: log, Metrics: prometheus.NewRegistry(), Intake: to}), log)
	if err := component.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- component.Run(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	long := strings.Repeat("a", 8<<10)
	for _, tc := range []struct {
		method, target, cookie string
		status                 int
		kind                   string
	}{
		{"GET", "/px.jpg?client_id=web_1&name=" + long, "", 200, "image/gif"},
		{"GET", "/px.jpg?client_id=web_1&name=n", long, 200, "image/gif"},
		{"GET", "/px.jpg", long, 200, "image/gif"},
		{"GET", "/px.jpgs", long, 431, "application/json"},
		{"GET", "/health", long, 431, "application/json"},
		{"POST", "/px.jpg", long, 431, "application/json"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+addr+tc.target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Cookie", tc.cookie)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if kind := resp.Header.Get("Content-Type"); err != nil || resp.StatusCode != tc.status || kind != tc.kind ||
			(kind == "image/gif") != bytes.Equal(body, gif) {
			t.Errorf("%s %.20s: %d %s, %d bytes, %v; want %d %s",
				tc.method, tc.target, resp.StatusCode, kind, len(body), err, tc.status, tc.kind)
		}
	}
	if len(to.accepted) > 0 {
		t.Errorf("%d were taken", len(to.accepted))
	}
}

func TestAQueryBecomesAnEvent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		form  *event.Form
		query string
		want  string
	}{
		{"nothing", event.Pixels, "", `{}`},
		{
			"texts stay texts", event.Pixels, "name=12&eventId=true&title=a+b%22%0A",
			`{"name":"12","eventId":"true","title":"a b\"\u000a"}`,
		},
		{
			"numbers become numbers", event.Pixels, "rtt=50&scroll_depth=1e1&load_time=1.50",
			`{"rtt":50,"scroll_depth":1e1,"load_time":1.50}`,
		},
		{"what is none is judged as it is", event.Pixels, "rtt=fast&downlink=x", `{"rtt":"fast","downlink":"x"}`},
		{
			"what is empty was not given", event.Pixels,
			"name=n&rtt=&downlink&timestamp=&properties=&profileId=&anonymizeVisitorIds=&title=", `{"name":"n"}`,
		},
		{"what is empty in an object is", event.Pixels, "properties[plan]=", `{"properties":{"plan":""}}`},
		{
			"what is required may not be empty", event.Vitals, "metricName=&metricValue=&path=&timestamp=",
			`{"metricName":"","metricValue":"","path":"","timestamp":""}`,
		},
		{"times", event.Pixels, "timestamp=1795000000000", `{"timestamp":1795000000000}`},
		{"times in words", event.Pixels, "timestamp=2026-05-01", `{"timestamp":"2026-05-01"}`},
		{"choices", event.Pixels, "anonymizeVisitorIds=false", `{"anonymizeVisitorIds":false}`},
		{"choices in words", event.Pixels, "anonymizeVisitorIds=auto", `{"anonymizeVisitorIds":"auto"}`},
		{"an object in JSON", event.Pixels, `properties={"plan":"pro","n":1}`, `{"properties":{"plan":"pro","n":1}}`},
		{"an object that is none", event.Pixels, `properties=7`, `{"properties":"7"}`},
		{
			"an object in brackets", event.Pixels,
			"properties[plan]=pro&name=n&properties[n]=1&properties[a][b]=true&properties[a][c]=-2.5",
			`{"properties":{"plan":"pro","n":1,"a":{"b":true,"c":-2.5}},"name":"n"}`,
		},
		{"brackets that do not fit", event.Pixels, "properties[plan=1&[x]=1&name=n", `{"name":"n"}`},
		{"what is of no form", event.Pixels, "client_id=web_1&sdk_name=web&name=n", `{"name":"n"}`},
		{"a key twice", event.Pixels, "name=a&name=b", `{"name":"a","name":"b"}`},
		{"an object twice", event.Pixels, `properties={}&properties[a]=1`, `{"properties":{},"properties":{"a":1}}`},
		{
			"a vital", event.Vitals, "metricName=LCP&metricValue=12&path=/p&name=x",
			`{"metricName":"LCP","metricValue":12,"path":"/p"}`,
		},
		{"an error", event.Errors, "message=1&lineno=7", `{"message":"1","lineno":7}`},
	} {
		var args fasthttp.Args
		args.Parse(tc.query)
		if got := string(pixelBody(tc.form, &args)); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestAnEmptyParameterIsAsGoodAsNone(t *testing.T) {
	t.Parallel()
	var decoder event.Decoder
	for _, tc := range []struct{ kind, query string }{
		{"track", "name=n"},
		{"outgoing_link", "href=https://x.example/"},
		{"web_vitals", "timestamp=1795000000000&path=/p&metricName=LCP&metricValue=1"},
		{"error", "timestamp=1795000000000&path=/p&message=m"},
	} {
		form := pixelRoute([]byte(tc.kind)).Form
		for i := range form.Fields {
			field := &form.Fields[i]
			if field.Required || strings.Contains("&"+tc.query, "&"+field.Name+"=") {
				continue
			}
			var args fasthttp.Args
			args.Parse("type=" + tc.kind + "&" + tc.query + "&" + field.Name + "=")
			if _, err := decoder.DecodeForm(form, event.One, pixelBody(form, &args)); err != nil {
				t.Errorf("type=%s without a value of %s: %v", tc.kind, field.Name, err)
			}
		}
	}
}
