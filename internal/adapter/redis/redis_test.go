package redis_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/millrace/millrace/internal/adapter/redis"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
	"github.com/millrace/millrace/internal/tenant/ratelimit"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// patient is the timeout of those who want a response, however slow the machine is.
const patient = time.Minute

func open(t *testing.T, url string, timeout time.Duration) *redis.Limits {
	t.Helper()
	l, err := redis.Open(config.Redis{URL: config.Secret(url), Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// client returns a plain client of the same database.
func client(t *testing.T, url string) *goredis.Client {
	t.Helper()
	opts, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(opts)
	t.Cleanup(func() { c.Close() })
	return c
}

func window(name string, requests int, length time.Duration) ratelimit.NamedLimit {
	return ratelimit.NamedLimit{Name: name, Limit: ratelimit.Limit{Requests: requests, Window: length}}
}

func settle(t *testing.T, l *redis.Limits, q ratelimit.Question) ratelimit.Verdict {
	t.Helper()
	v, err := l.Settle(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAWindowAdmitsItsLimitAndSlides(t *testing.T) {
	t.Parallel()
	l := open(t, services.Redis(t), patient)
	// A machine that needs longer than the window for its requests shows nothing;
	// it gets a longer one.
	for length := 2 * time.Second; !slides(t, l, length); length *= 2 {
		t.Logf("too slow for a window of %s", length)
	}
}

// slides fills a window, and reports whether that took less than its length; if
// so, the next request is rejected, and admitted after the wait that it was told.
func slides(t *testing.T, l *redis.Limits, length time.Duration) bool {
	t.Helper()
	q := ratelimit.Question{
		Account: "key:" + length.String(), Windows: []ratelimit.NamedLimit{window("track", 600, length)},
	}
	began := time.Now()
	for i := range 600 {
		if v := settle(t, l, q); v.Rejected != ratelimit.Admitted {
			t.Fatalf("request %d is refused: %+v after %s", i+1, v, time.Since(began))
		}
	}
	v := settle(t, l, q)
	if time.Since(began) > length {
		return false
	}
	if v.Rejected != 0 || v.Wait <= 0 || v.Wait > length {
		t.Fatalf("request 601: %+v", v)
	}
	<-time.After(v.Wait) // the server's word is what is tested
	if v := settle(t, l, q); v.Rejected != ratelimit.Admitted {
		t.Errorf("after the wait that the refusal told: %+v", v)
	}
	return true
}

func TestAllIsSettledOrNothing(t *testing.T) {
	t.Parallel()
	l := open(t, services.Redis(t), patient)
	wide, narrow := window("all", 3, time.Hour), window("query", 2, time.Minute)
	both := ratelimit.Question{
		Account: "key:a", Windows: []ratelimit.NamedLimit{narrow, wide}, Slots: 2, LeaseFor: time.Minute,
	}
	ask := func(q ratelimit.Question, lease string) int {
		q.Lease = lease
		return settle(t, l, q).Rejected
	}
	for i, step := range []struct {
		q    ratelimit.Question
		give string // back before
		want int
	}{
		{both, "", ratelimit.Admitted},
		{both, "", ratelimit.Admitted},
		{both, "", 0},                              // the narrow window, before the slots
		{both, "lease-0", 0},                       // still, with a slot free: it took none
		{only(both, wide), "", ratelimit.Admitted}, // the wide one has a third: the rejected ones took nothing
		{only(both, wide), "", 0},
		{only(both, window("other", 9, time.Hour)), "", 1}, // the slots
		{only(both, window("other", 9, time.Hour)), "lease-1", ratelimit.Admitted},
	} {
		if step.give != "" {
			if err := l.Release(t.Context(), "key:a", step.give); err != nil {
				t.Fatal(err)
			}
		}
		if got := ask(step.q, fmt.Sprintf("lease-%d", i)); got != step.want {
			t.Errorf("step %d: refused by %d, want %d", i, got, step.want)
		}
	}
}

func only(q ratelimit.Question, w ratelimit.NamedLimit) ratelimit.Question {
	q.Windows = []ratelimit.NamedLimit{w}
	return q
}

func TestTheLongestWaitIsTold(t *testing.T) {
	t.Parallel()
	l := open(t, services.Redis(t), patient)
	q := ratelimit.Question{Account: "key:a", Windows: []ratelimit.NamedLimit{
		window("query", 1, time.Minute), window("all", 1, time.Hour),
	}}
	settle(t, l, q)
	if v := settle(t, l, q); v.Rejected != 1 || v.Wait < 59*time.Minute {
		t.Errorf("refused by %+v, want the hour", v)
	}
}

func TestAPlaceIsFreeWhenItsLeaseEnds(t *testing.T) {
	t.Parallel()
	url := services.Redis(t)
	l := open(t, url, patient)
	q := ratelimit.Question{Account: "key:a", Slots: 1, Lease: "of a process that died", LeaseFor: 300 * time.Millisecond}
	began := time.Now() // before the server reads its clock
	if v := settle(t, l, q); v.Rejected != ratelimit.Admitted {
		t.Fatal(v)
	}
	next := q
	next.Lease, next.LeaseFor = "next", time.Minute
	for settle(t, l, next).Rejected != ratelimit.Admitted {
		if time.Since(began) > patient {
			t.Fatal("the place is never free")
		}
	}
	if took := time.Since(began); took < 290*time.Millisecond {
		t.Errorf("the place was free after %s", took)
	}
}

func TestNothingStaysBehind(t *testing.T) {
	t.Parallel()
	url := services.Redis(t)
	l := open(t, url, patient)
	c := client(t, url)
	settle(t, l, ratelimit.Question{
		Account: "key:a", Slots: 20, Lease: "x", LeaseFor: time.Minute,
		Windows: []ratelimit.NamedLimit{window("track", 600, time.Minute), window("all", 300, time.Hour)},
	})
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 3 {
		t.Fatalf("keys %q, %v; want three", keys, err)
	}
	for _, k := range keys {
		ttl, err := c.PTTL(t.Context(), k).Result()
		if err != nil || ttl <= 0 || ttl > time.Hour || !strings.HasPrefix(k, "millrace:limits:{key:a}:") {
			t.Errorf("%s ends in %s, %v", k, ttl, err)
		}
	}
}

func TestARequestIsOneCall(t *testing.T) {
	t.Parallel()
	url := services.Own(t, services.KindRedis).Redis(t)
	l, c := open(t, url, patient), client(t, url)
	q := ratelimit.Question{
		Account:  "key:a",
		Windows:  []ratelimit.NamedLimit{window("track", 9999, time.Minute), window("all", 9999, time.Minute)},
		Slots:    9999,
		LeaseFor: time.Minute,
	}
	settle(t, l, q) // has the script sent
	if err := c.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		q.Lease = strconv.Itoa(i)
		settle(t, l, q)
	}
	stats, err := c.Info(t.Context(), "commandstats").Result()
	if err != nil || !strings.Contains(stats, "cmdstat_evalsha:calls=100,") || strings.Contains(stats, "cmdstat_eval:") {
		t.Errorf("calls: %v\n%s", err, stats)
	}
}

func TestAServerThatForgotTheScriptIsToldIt(t *testing.T) {
	t.Parallel()
	url := services.Own(t, services.KindRedis).Redis(t)
	l, c := open(t, url, patient), client(t, url)
	q := ratelimit.Question{Account: "key:a", Windows: []ratelimit.NamedLimit{window("track", 2, time.Minute)}}
	settle(t, l, q)
	if err := c.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if v := settle(t, l, q); v.Rejected != ratelimit.Admitted {
		t.Errorf("the second of two: %+v", v)
	}
}

func TestAServerThatTakesNoWritesIsAway(t *testing.T) {
	t.Parallel()
	url := services.Own(t, services.KindRedis).Redis(t)
	l, c := open(t, url, patient), client(t, url)
	if err := l.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := l.Ping(t.Context()); err == nil {
		t.Error("a server without memory is taken for one that serves")
	}
}

func TestManyProcessesTogetherGetExactlyTheLimit(t *testing.T) {
	t.Parallel()
	url := services.Redis(t)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 5 {
		l := open(t, url, patient)
		for range 4 {
			wg.Go(func() {
				for range 50 {
					v, err := l.Settle(context.WithoutCancel(t.Context()), ratelimit.Question{
						Account: "key:a", Windows: []ratelimit.NamedLimit{window("all", 300, time.Minute)},
					})
					if err != nil {
						t.Error(err)
					} else if v.Rejected == ratelimit.Admitted {
						admitted.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
	if got := admitted.Load(); got != 300 {
		t.Errorf("%d of 1000 were admitted, want 300", got)
	}
}

func TestNoCallTakesLongerThanItsTimeout(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() { // takes connections and says nothing
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, conn)
		}
	}()
	l := open(t, "redis://"+ln.Addr().String(), 50*time.Millisecond)
	shortest := time.Hour
	for range 5 { // a machine that stands still does so once
		began := time.Now()
		if _, err := l.Settle(t.Context(), ratelimit.Question{Account: "key:a"}); err == nil {
			t.Error("a server that says nothing has settled a request")
		}
		if err := l.Release(t.Context(), "key:a", "x"); err == nil {
			t.Error("a server that says nothing has taken a place back")
		}
		shortest = min(shortest, time.Since(began))
	}
	if shortest > 2*time.Second {
		t.Errorf("two calls took %s", shortest)
	}
}

func TestAnErrorAboutTheURLHoldsNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://u:hunter2@h:1/x", "redis://u:hunter2@h:1/1?nonsense=1", "http://u:hunter2@h"} {
		if _, err := redis.Open(config.Redis{URL: config.Secret(url)}); err == nil ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open() = %v", err)
		}
	}
}

func BenchmarkSettle(b *testing.B) {
	l, err := redis.Open(config.Redis{URL: config.Secret(services.Redis(b)), Timeout: patient})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var serial atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		account := fmt.Sprintf("key:%d", serial.Add(1))
		for pb.Next() {
			if _, err := l.Settle(b.Context(), ratelimit.Question{
				Account: account,
				Windows: []ratelimit.NamedLimit{window("track", 600, time.Minute), window("all", 300, time.Minute)},
				Slots:   20, Lease: "x", LeaseFor: time.Minute,
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// rightsOfTheGuide are those that the guide gives the user of Redis.
func rightsOfTheGuide(t *testing.T) (rights []any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "guides", "connections.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`ACL SETUSER millrace on '>PASSWORD' ([^\x60]*)`).FindSubmatch(text)
	if m == nil {
		t.Fatal("the guide makes no user")
	}
	for right := range strings.FieldsSeq(strings.ReplaceAll(string(m[1]), "\\\n", " ")) {
		rights = append(rights, strings.Trim(right, "'"))
	}
	return rights
}

// The user may do what the guide says, and nothing else.
func TestTheUserOfTheGuideMayDoWhatLimitsNeed(t *testing.T) {
	t.Parallel()
	shared := services.Redis(t)
	operator, name := client(t, shared), "user"+shared[strings.LastIndex(shared, "/")+1:]
	change := func(rules ...any) {
		if err := operator.Do(context.WithoutCancel(t.Context()), append([]any{"ACL"}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	change(append([]any{"SETUSER", name, "reset", "on", ">secret"}, rightsOfTheGuide(t)...)...)
	t.Cleanup(func() { change("DELUSER", name) })
	l := open(t, strings.Replace(shared, "redis://", "redis://"+name+":secret@", 1), patient)

	q := ratelimit.Question{
		Account: "a", Slots: 2, Lease: "lease", LeaseFor: time.Hour,
		Windows: []ratelimit.NamedLimit{window("minute", 5, time.Minute)},
	}
	for range 3 {
		if v := settle(t, l, q); v.Rejected == 0 {
			if err := l.Release(t.Context(), "a", "lease"); err != nil {
				t.Error(err)
			}
		}
	}
	if st, err := l.Inspect(t.Context()); err != nil || st.Version == "" || st.Role != "master" {
		t.Errorf("of the server it is told %+v, %v", st, err)
	}
	change("SETUSER", name, "-info")
	if st, err := l.Inspect(t.Context()); err != nil || st.Version != "" || st.Clock.IsZero() {
		t.Errorf("without INFO it is told %+v, %v", st, err)
	}
	change("SETUSER", name, "-pexpire")
	if _, err := l.Inspect(t.Context()); !credential.Rejected(err) || !strings.Contains(err.Error(), "PEXPIRE") {
		t.Errorf("without PEXPIRE it is told %v", err)
	}
}
