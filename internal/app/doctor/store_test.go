package doctor

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/adapter/redis"
)

func TestWhatRedisMayNotBeIsTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		st       redis.State
		level    Level
		what, do string
	}{
		{"a primary that drops nothing", redis.State{Mode: "standalone", Role: "master", Eviction: "noeviction"}, OK, "", ""},
		{"one that does not tell", redis.State{}, OK, "", ""},
		{"one that drops anything", redis.State{Eviction: "allkeys-lru"}, Warn, "is allkeys-lru", "policy noeviction"},
		{"one that drops what expires", redis.State{Eviction: "volatile-ttl"}, Warn, "is volatile-ttl", "policy noeviction"},
		{"a cluster", redis.State{Mode: "cluster"}, Warn, "is a cluster", "single primary"},
		{"a replica", redis.State{Role: "slave"}, Fail, "points to a replica", "set redis.url to the primary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var n notebook
			n.redisMode(&tt.st, "")
			r := &Report{Findings: n.findings}
			if r.Worst() != tt.level || tt.level != OK &&
				(!strings.Contains(n.findings[0].What, tt.what) || !strings.Contains(n.findings[0].Do, tt.do)) {
				t.Errorf("it says %+v, want %s: %s", n.findings, tt.level, tt.what)
			}
		})
	}
}
