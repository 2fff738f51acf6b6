package flagapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/resource/flag"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
)

// asProperties are attributes as a parameter.
func asProperties(text string) string { return "&properties=" + url.QueryEscape(text) }

func TestHost_RejectsLongAttributes(t *testing.T) {
	t.Parallel()
	app := mounted(t, testFlags())
	most := strings.Repeat("ü", flageval.MaxIDLen)
	long := most + "x"
	for _, tc := range []struct{ attributes, want string }{
		{`"plan":"` + most + `"`, ""},
		{`"plan":["a",["` + most + `"]]`, ""},
		{`"` + most + `":1`, ""},
		{`"plan":{"is":"` + long + `"}`, ""}, // no condition reads it
		{`"plan":"` + long + `"`, ".plan must have at most 256 characters"},
		{`"plan":["a",["` + long + `"]]`, ".plan[1][0] must have at most 256 characters"},
		{`"$country":"` + long + `"`, ".$country must have at most 256 characters"},
		{`"b":"` + long + `","a":"` + long + `"`, ".a must have at most 256 characters"},
		{`"` + long + `":1`, " must have names of at most 256 characters"},
	} {
		for path, got := range map[string]reply{
			"properties": send(t, app, http.MethodGet, evaluatePath+"?clientId=public-1&key=nav"+asProperties("{"+tc.attributes+"}")),
			"context":    post(t, app, ofrepPath+"/nav", about(tc.attributes)),
		} {
			want, status := "", http.StatusOK
			if tc.want != "" {
				want, status = path+tc.want, http.StatusBadRequest
			}
			if got.Status != status || !strings.Contains(got.Body, want) {
				t.Errorf("%.40s: %d %.300s, want %d %s", tc.attributes, got.Status, got.Body, status, want)
			}
		}
	}
	for name, got := range map[string]reply{
		"bulk":       send(t, app, http.MethodGet, bulkPath+"?clientId=public-1"+asProperties(`{"plan":"`+long+`"}`)),
		"ofrep bulk": post(t, app, ofrepPath, about(`"plan":"`+long+`"`)),
	} {
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, ".plan must have at most 256") {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

// costly are flags whose evaluation costs more than a request may, if a is a list of long texts.
func costly() (all []*flag.Flag) {
	for i := range 5 {
		var values []any
		for j := range 10 {
			values = append(values, fmt.Sprintf("(?:a?){330}%d-%d", i, j))
		}
		all = append(all, text(fmt.Sprint("costly-", i), two(where("a", flageval.OpMatches, values...))))
	}
	return all
}

func TestHost_RejectsCostlyEvaluations(t *testing.T) {
	t.Parallel()
	exposed := 0
	app := mounted(t, append(costly(), testFlags()...), func(d *Deps) {
		d.Exposures = exposing(func(*Exposure) { exposed++ })
	})
	var texts []string
	for i := range 15 {
		texts = append(texts, strings.Repeat("a", 200)+strconv.Itoa(i))
	}
	list := `"a":["` + strings.Join(texts, `","`) + `"]`
	keys := "&keys=costly-0,costly-1,costly-2,costly-3"
	for name, got := range map[string]reply{
		"bulk":       send(t, app, http.MethodGet, bulkPath+"?clientId=public-1"+asProperties("{"+list+"}")),
		"keys":       send(t, app, http.MethodGet, bulkPath+"?clientId=public-1"+keys+asProperties("{"+list+"}")),
		"evaluate":   send(t, app, http.MethodGet, evaluatePath+"?clientId=public-1&key=costly-0"+asProperties("{"+list+"}")),
		"ofrep":      post(t, app, ofrepPath+"/costly-0", about(list)),
		"ofrep bulk": post(t, app, ofrepPath, about(list)),
	} {
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "exceeds the cost limit") ||
			strings.Contains(got.Body, `"value"`) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		if strings.HasPrefix(name, "ofrep") && !strings.Contains(got.Body, `"errorCode":"GENERAL"`) {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	if exposed > 0 {
		t.Errorf("%d exposures of what nobody was served", exposed)
	}
	if got := send(t, app, http.MethodGet, bulkPath+"?clientId=public-1"+asProperties(`{"a":"a"}`)); got.Status != http.StatusOK {
		t.Errorf("with a short attribute: %d %s", got.Status, got.Body)
	}
}

func TestWork_EndsWithRequest(t *testing.T) {
	t.Parallel()
	app := fiber.New()
	c := app.AcquireCtx(&fasthttp.RequestCtx{})
	defer app.ReleaseCtx(c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.SetUserContext(ctx)
	w := &work{caller: caller{subject: subject{set: testSet(t, costly()), website: &websites[0]}}}
	w.person.Attributes = map[string]flageval.Value{"a": flageval.Text(strings.Repeat("a", 200))}
	for _, want := range []error{nil, context.Canceled} {
		w.start(c)
		if _, _, err := w.evaluate(w.find("costly-0")); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		w.turn.Release()
		cancel()
	}
}

func TestHost_StopsWhenClientLeaves(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]bool{"stays": false, "leaves": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var exposed atomic.Int32
			t.Cleanup(func() { // once the host has stopped
				if n := exposed.Load(); (n == 0) != leaves {
					t.Errorf("%d exposures", n)
				}
			})
			flags, entered, left := costly()[:3], make(chan bool), make(chan bool)
			for _, f := range flags {
				f.About.Exposures.Mode = flag.ExposeAll
			}
			addr, _ := listen(t, mounted(t, flags, func(d *Deps) {
				d.Exposures = exposing(func(*Exposure) { exposed.Add(1) })
				d.Country = func(netip.Addr) string { entered <- true; <-left; return "" }
			}))
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s?clientId=public-1&keys=%s%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
				bulkPath, listed(flags), asProperties(`{"a":"`+strings.Repeat("a", 200)+`"}`))
			<-entered
			if leaves {
				conn.Close()
			}
			left <- true
			if !leaves {
				io.Copy(io.Discard, conn)
				conn.Close()
			}
		})
	}
}
