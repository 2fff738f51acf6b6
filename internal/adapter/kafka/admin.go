package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
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
	return visible(ctx, func() (bool, error) {
		there, err := adm.ListTopics(ctx, names...)
		return err == nil && !slices.ContainsFunc(names, func(n string) bool { return !there.Has(n) }), err
	})
}

// visible asks until brokers tell what they have agreed to.
func visible(ctx context.Context, ask func() (bool, error)) error {
	tick := time.NewTicker(visibleEvery)
	defer tick.Stop()
	for {
		there, err := ask()
		if there {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the created topics to appear: %w", errors.Join(ctx.Err(), err))
		}
	}
}

// ErrTopics is wrapped by what CheckTopics returns when brokers answer and do not
// have every topic.
var ErrTopics = errors.New("missing topics")

// Reach reports why no broker answers; nil when one does. Each is asked a few times:
// it is for whoever asks again.
func Reach(ctx context.Context, cfg config.Kafka) error {
	return withAdmin(ctx, cfg, func(ctx context.Context, adm *kadm.Client) error {
		if _, err := adm.BrokerMetadata(ctx); err != nil {
			return fmt.Errorf("reaching a broker of %s: %w", strings.Join(cfg.Brokers, ", "), err)
		}
		return nil
	}, kgo.RequestRetries(reachTries*len(cfg.Brokers)))
}

// reachTries is how often each broker is asked.
const reachTries = 2

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
		return fmt.Errorf("%w: %s; create them with \"millrace topics create\"", ErrTopics, strings.Join(names, ", "))
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

func withAdmin(
	ctx context.Context, cfg config.Kafka, do func(context.Context, *kadm.Client) error, more ...kgo.Opt,
) error {
	return withAdminClient(ctx, cfg, func(ctx context.Context, client *kgo.Client) error {
		return do(ctx, kadm.NewClient(client))
	}, more...)
}

func withAdminClient(
	ctx context.Context, cfg config.Kafka, do func(context.Context, *kgo.Client) error, more ...kgo.Opt,
) error {
	opts, err := ClientOptions(cfg, "admin", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return withClient(ctx, cfg, append(opts, more...), do)
}

// withClient gives do a client of its own, and ends it as soon as a broker says that
// the settings do not fit: the client itself would go on to try.
func withClient(
	ctx context.Context, cfg config.Kafka, opts []kgo.Opt, do func(context.Context, *kgo.Client) error,
) error {
	ctx, reject := context.WithCancelCause(ctx)
	defer reject(nil)
	client, err := kgo.NewClient(append(opts, kgo.WithHooks(rejections{cfg, reject}))...)
	if err != nil {
		return fmt.Errorf("creating the Kafka client: %w", err)
	}
	defer client.Close()
	err = do(ctx, client)
	if cause := context.Cause(ctx); err != nil && credential.Rejected(cause) {
		return fmt.Errorf("connecting to Kafka at %s: %w", strings.Join(cfg.Brokers, ", "), cause)
	}
	return err
}

// rejections is a hook that tells of brokers which the settings do not fit.
type rejections struct {
	cfg config.Kafka
	to  context.CancelCauseFunc
}

var (
	_ kgo.HookBrokerConnect = rejections{}
	_ kgo.HookBrokerE2E     = rejections{}
)

// OnBrokerConnect takes note of an attempt to connect, signing in included.
func (r rejections) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	r.note(err)
}

// OnBrokerE2E takes note of a request.
func (r rejections) OnBrokerE2E(_ kgo.BrokerMetadata, _ int16, e kgo.BrokerE2E) { r.note(e.Err()) }

func (r rejections) note(err error) {
	if err = explain(r.cfg, err); credential.Rejected(err) {
		r.to(err)
	}
}
