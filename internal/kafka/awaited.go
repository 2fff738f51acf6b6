package kafka

import (
	"context"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/credential"
	"github.com/millrace/millrace/internal/lifecycle"
)

// Awaited is Kafka as a daemon waits for it: a broker answers, and has every topic.
func Awaited(cfg config.Kafka) lifecycle.Server {
	return lifecycle.Server{
		Name:       "Kafka",
		Reach:      func(ctx context.Context) error { return Reach(ctx, cfg) },
		Check:      func(ctx context.Context) error { return CheckTopics(ctx, cfg) },
		Unprepared: ErrTopics, Hopeless: credential.Refused,
	}
}
