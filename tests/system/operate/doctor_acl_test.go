package operate

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/control"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
)

// TestTheDoctorNamesWhatTheKafkaUserMayNotDo asks Apache Kafka's own authorizer, as a
// user who is given one right after the other.
func TestTheDoctorNamesWhatTheKafkaUserMayNotDo(t *testing.T) {
	t.Parallel()
	s := newServers(t)
	server := services.Own(t, services.KindKafkaACL)
	admin, alice := server.KafkaUser("admin"), server.KafkaUser("alice")
	if _, err := kafka.EnsureTopics(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	as := settings("KAFKA_BROKERS", alice.Brokers[0], "KAFKA_TOPIC_PREFIX", "", "KAFKA_PARTITIONS",
		strconv.Itoa(admin.Partitions), "KAFKA_SASL_MECHANISM", "plain", "KAFKA_SASL_USER", alice.SASL.User,
		"KAFKA_SASL_PASSWORD", alice.SASL.Password.Reveal())
	lacks := func(what string) {
		t.Helper()
		illness{what, as, "kafka.permissions", what, "kafka-acls.sh --add"}.found(t, s)
	}

	lacks("lacks WRITE on topic clicks.v1, clicks.v1.dlq, control.v1, ")
	topics := kadm.NewACLs().Topics("*")
	allow(t, admin, topics.Operations(kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpWrite))
	learned(t, alice, func(c *kafka.Cluster) bool { return c.Topics[control.Topic].Permissions.Permit(kafka.Write) })
	lacks("lacks READ on topic clicks.v1, control.v1, ")
	allow(t, admin, topics.Operations(kadm.OpRead))
	learned(t, alice, func(c *kafka.Cluster) bool { return c.Topics[control.Topic].Permissions.Permit(kafka.Read) })
	lacks("lacks READ on group ")
	allow(t, admin, kadm.NewACLs().Groups("*").Operations(kadm.OpRead))
	learned(t, alice, func(c *kafka.Cluster) bool { return c.Groups[askedGroup] != 0 })
	out, _ := millrace(t, s.with(as(t, s)), "doctor", "--json")
	if !strings.Contains(out, `{"check":"kafka.permissions","level":"ok",`) {
		t.Errorf("the doctor finds something although nothing is lacking:\n%s", out)
	}
}

// allow lets alice do something.
func allow(t *testing.T, admin config.Kafka, what *kadm.ACLBuilder) {
	t.Helper()
	opts, err := kafka.ClientOptions(admin, "test", slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	made, err := kadm.NewClient(client).CreateACLs(t.Context(),
		what.Allow("User:alice").AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range made {
		if m.Err != nil {
			t.Fatal(m.Err)
		}
	}
}

// askedGroup is a group that nobody is in.
const askedGroup = "nobodys"

// learned waits until the broker knows of what was allowed, which takes a moment.
func learned(t *testing.T, user config.Kafka, knows func(*kafka.Cluster) bool) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		found, err := kafka.Inspect(t.Context(), user, askedGroup)
		if err == nil && !knows(&found) {
			err = errors.New("the broker does not know of it yet")
		}
		return err
	})
}
