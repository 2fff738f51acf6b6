package redis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// State is what a server tells of itself; all but its clock is empty where the user may not ask.
type State struct {
	Version string
	// Mode is standalone, cluster or sentinel; Role master or slave.
	Mode, Role string
	// Eviction is what it does when memory is full, such as noeviction; empty where
	// it does not tell.
	Eviction string
	// Clock is what its clock showed while it was asked.
	Clock time.Time
}

// Inspect asks the server for what it is, and whether it takes what Settle writes.
func (l *Limits) Inspect(ctx context.Context) (s State, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*l.timeout) // four calls
	defer cancel()
	info, err := l.client.InfoMap(ctx, "server", "replication", "memory").Result()
	switch {
	case err == nil:
		s = stateOf(info)
	case !redis.IsPermissionError(err): // limits do without it
		return s, fmt.Errorf("reading the server information of Redis: %w", err)
	}
	if s.Clock, err = l.client.Time(ctx).Result(); err != nil {
		return s, fmt.Errorf("reading the time of Redis: %w", err)
	}
	return s, l.Ping(ctx)
}

func stateOf(info map[string]map[string]string) State {
	server := info["Server"]
	s := State{
		Version:  server["redis_version"],
		Mode:     server["redis_mode"],
		Role:     info["Replication"]["role"],
		Eviction: info["Memory"]["maxmemory_policy"],
	}
	if v := server["valkey_version"]; v != "" {
		s.Version, s.Mode = "Valkey "+v, server["server_mode"]
	}
	s.Mode, s.Role = strings.TrimSpace(s.Mode), strings.TrimSpace(s.Role)
	return s
}
