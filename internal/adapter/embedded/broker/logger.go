package broker

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kfake"
)

// levels maps the broker's levels; what it calls info is a line per request.
var levels = map[kfake.LogLevel]slog.Level{
	kfake.LogLevelError: slog.LevelError,
	kfake.LogLevelWarn:  slog.LevelWarn,
}

// logger passes the broker's warnings and errors on.
type logger struct{ log *slog.Logger }

// Logf implements kfake.Logger.
func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	to, ok := levels[level]
	if !ok {
		return
	}
	l.log.LogAttrs(context.Background(), to, "embedded Kafka broker", slog.String("detail", fmt.Sprintf(format, args...)))
}
