package kafka

import (
	"context"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// Awaited is Kafka as a daemon waits for it: a broker answers, has every topic, and they
// pass a check such as a TopicWatch's; nil means none.
func Awaited(cfg config.Kafka, check func(context.Context) error) lifecycle.Server {
	return lifecycle.Server{
		Name:  "Kafka",
		Reach: func(ctx context.Context) error { return Reach(ctx, cfg) },
		Check: func(ctx context.Context) error {
			if err := CheckTopics(ctx, cfg); err != nil || check == nil {
				return err
			}
			return check(ctx)
		},
		Unprepared: ErrTopics, Hopeless: credential.Rejected,
	}
}
