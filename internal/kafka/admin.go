package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/config"
)

// visibleEvery is how often a created topic is looked for.
const visibleEvery = 20 * time.Millisecond

// EnsureTopics creates the topics that are missing and returns their names once
// brokers tell clients about them, which is a moment after they have agreed to
// create them. A topic that exists is left as it is.
func EnsureTopics(ctx context.Context, cfg config.Kafka) (created []string, err error) {
	err = withAdmin(ctx, cfg, func(ctx context.Context, adm *kadm.Client) error {
		missing, err := missingTopics(ctx, cfg, adm)
		if err != nil {
			return err
		}
		var errs []error
		for _, t := range missing {
			name, replication := TopicName(cfg, t.Name), replicationOf(cfg)
			_, err := adm.CreateTopic(ctx, partitionsOf(cfg, &t), replication, t.settings(replication), name)
			switch {
			case errors.Is(err, kerr.TopicAlreadyExists): // somebody else was faster
			case err != nil:
				errs = append(errs, fmt.Errorf("creating topic %s: %w", name, err))
			default:
				created = append(created, name)
			}
		}
		return errors.Join(append(errs, waitVisible(ctx, adm, created))...)
	})
	return created, err
}

// waitVisible returns when clients can see the topics.
func waitVisible(ctx context.Context, adm *kadm.Client, names []string) error {
	if len(names) == 0 {
		return nil
	}
	tick := time.NewTicker(visibleEvery)
	defer tick.Stop()
	for {
		there, err := adm.ListTopics(ctx, names...)
		if err == nil && !slices.ContainsFunc(names, func(n string) bool { return !there.Has(n) }) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the created topics to appear: %w", errors.Join(ctx.Err(), err))
		}
	}
}

// CheckTopics returns an error that names the topics which are missing and the
// command that creates them.
func CheckTopics(ctx context.Context, cfg config.Kafka) error {
	return withAdmin(ctx, cfg, func(ctx context.Context, adm *kadm.Client) error {
		missing, err := missingTopics(ctx, cfg, adm)
		if err != nil || len(missing) == 0 {
			return err
		}
		names := make([]string, len(missing))
		for i, t := range missing {
			names[i] = TopicName(cfg, t.Name)
		}
		return fmt.Errorf("missing topics: %s; create them with \"millrace topics create\"", strings.Join(names, ", "))
	})
}

func missingTopics(ctx context.Context, cfg config.Kafka, adm *kadm.Client) ([]Topic, error) {
	there, err := adm.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing topics at %s: %w", strings.Join(cfg.Brokers, ", "), err)
	}
	var missing []Topic
	for _, t := range Topics {
		if !there.Has(TopicName(cfg, t.Name)) {
			missing = append(missing, t)
		}
	}
	return missing, nil
}

func withAdmin(ctx context.Context, cfg config.Kafka, do func(context.Context, *kadm.Client) error) error {
	opts, err := ClientOptions(cfg, "admin", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("making the Kafka client: %w", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return do(ctx, kadm.NewClient(client))
}
