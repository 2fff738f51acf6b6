package analyticstest_test

import (
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/analytics/analyticstest"
)

// visitSet is richSet in sessions of less than an hour, some of which are going on when
// questions are asked.
func visitSet(r *rand.Rand, n int) []analyticstest.Event {
	all := append(richSet(r, n), called()...)
	starts := map[string]time.Time{}
	for i := range all {
		e := &all[i]
		if e.Kind == "identity" {
			continue
		}
		// the same of each sending
		engage(rand.New(rand.NewPCG(uint64(len(e.ID)), uint64(crc32.ChecksumIEEE([]byte(e.ID))))), e)
		// Sendings of one event stay on its day, and of one session.
		key := e.SessionID + e.Time.UTC().Format(time.DateOnly)
		if e.SessionID == "" {
			key = strconv.Itoa(i / 8)
		}
		if starts[key].IsZero() {
			starts[key] = e.Time.Truncate(24 * time.Hour).Add(time.Duration(r.Int64N(int64(23 * time.Hour))))
			for _, now := range nows {
				if r.IntN(3) == 0 && now.Truncate(24*time.Hour).Equal(e.Time.Truncate(24*time.Hour)) {
					starts[key] = now.Add(-time.Duration(r.Int64N(int64(50 * time.Minute))))
				}
			}
		}
		day := e.Time.Truncate(24 * time.Hour)
		spread := []time.Duration{20 * time.Second, 3 * time.Minute, 50 * time.Minute}[len(key)%3]
		e.Time = starts[key].Add(time.Duration(r.Int64N(int64(spread)))).Truncate(time.Millisecond)
		if !e.Time.Truncate(24 * time.Hour).Equal(day) {
			e.Time = day.Add(time.Duration(i) * time.Millisecond) // no two at once, for lists are ordered by time
		}
	}
	return all
}

// called are names of users.
func called() []analyticstest.Event {
	var all []analyticstest.Event
	for i, traits := range []string{
		`{"name":"Ada","email":"ada@example.com"}`, `{"name":"Bob","display_name":"Bobby"}`, `{"email":"c@example.com"}`,
		`{"email":null}`,
	} {
		at := at("03-10 00:00:00").Add(time.Duration(i) * time.Hour)
		all = append(all, analyticstest.Event{
			Kind: "identity", Name: "identify", Organization: "org_1", Website: "web_1", ID: fmt.Sprint("name ", i), Time: at,
			ReceivedAt: at,
			ProfileID:  []string{"p1", "p2", "p3", "p3"}[i], Properties: traits,
		})
	}
	return all
}

// engage makes engagement of some events, and lets pages be scrolled.
func engage(r *rand.Rand, e *analyticstest.Event) {
	if depth, ok := e.Numbers["scroll_depth"]; ok {
		e.Numbers["scroll_depth"] = min(100, math.Round(depth*150)/10)
	}
	if e.Kind != "" || e.Name == "signup" || r.IntN(3) > 0 {
		return
	}
	told := map[string]any{}
	for _, name := range []string{
		"maxScrollDepth", "timeOnPage", "activeTime", "interactionCount", "rageClickCount", "deadClickCount", "errorCount",
		"formFieldCount", "formSubmitCount",
	} {
		switch {
		case r.IntN(2) == 0:
		case name == "maxScrollDepth":
			told[name] = float64(r.IntN(401)) / 4
		default:
			told[name] = r.IntN(4) * r.IntN(6)
		}
	}
	e.Name, e.Properties = "engagement", string(quoted(told))
}
