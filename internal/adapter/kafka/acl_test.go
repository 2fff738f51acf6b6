package kafka

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/platform/config"
)

// spelled writes permissions in short.
func spelled(acls []ACL) []string {
	var out []string
	for _, a := range acls {
		out = append(out, strings.Join(
			[]string{a.PermissionType, a.Principal, a.Host, a.Operation, a.ResourceType, a.PatternType, a.ResourceName}, " "))
	}
	return out
}

func TestATapperMayReadAndNothingElse(t *testing.T) {
	t.Parallel()
	acls, err := Tapper{Principal: "User:alice"}.ACLs(config.Kafka{TopicPrefix: "acme."}, "millrace-sink")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ALLOW User:alice * DESCRIBE TOPIC LITERAL acme.events.v1",
		"ALLOW User:alice * READ TOPIC LITERAL acme.events.v1",
		"ALLOW User:alice * DESCRIBE TOPIC LITERAL acme.events.backfill.v1",
		"ALLOW User:alice * READ TOPIC LITERAL acme.events.backfill.v1",
		"ALLOW User:alice * DESCRIBE TOPIC LITERAL acme.vitals.v1",
		"ALLOW User:alice * READ TOPIC LITERAL acme.vitals.v1",
		"ALLOW User:alice * DESCRIBE TOPIC LITERAL acme.errors.v1",
		"ALLOW User:alice * READ TOPIC LITERAL acme.errors.v1",
		"ALLOW User:alice * DESCRIBE TOPIC LITERAL acme.ingestion.v1",
		"ALLOW User:alice * READ TOPIC LITERAL acme.ingestion.v1",
		"ALLOW User:alice * DESCRIBE TOPIC LITERAL acme.clicks.v1",
		"ALLOW User:alice * READ TOPIC LITERAL acme.clicks.v1",
		"ALLOW User:alice * DESCRIBE TOPIC LITERAL acme.exposures.v1",
		"ALLOW User:alice * READ TOPIC LITERAL acme.exposures.v1",
		"ALLOW User:alice * READ GROUP PREFIXED alice-",
	}
	if diff := cmp.Diff(want, spelled(acls)); diff != "" {
		t.Errorf("ACLs (-want +got):\n%s", diff)
	}
}

func TestATapperNamesItsTopicsAndGroups(t *testing.T) {
	t.Parallel()
	tapper := Tapper{
		Principal: "User:CN=etl, O=Acme", Topics: []string{"events.v1.dlq", "events.v1.dlq"}, GroupPrefix: "warehouse-",
	}
	acls, err := tapper.ACLs(config.Kafka{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ALLOW User:CN=etl, O=Acme * DESCRIBE TOPIC LITERAL events.v1.dlq",
		"ALLOW User:CN=etl, O=Acme * READ TOPIC LITERAL events.v1.dlq",
		"ALLOW User:CN=etl, O=Acme * READ GROUP PREFIXED warehouse-",
	}
	if diff := cmp.Diff(want, spelled(acls)); diff != "" {
		t.Errorf("ACLs (-want +got):\n%s", diff)
	}
}

func TestPermissionsThatWouldHarmAreRejected(t *testing.T) {
	t.Parallel()
	for want, tapper := range map[string]Tapper{
		`principal "alice" must be a type and a name`:        {Principal: "alice"},
		`principal "User:" must be a type and a name`:        {Principal: "User:"},
		`principal "User:a\nb" must be a type and a name`:    {Principal: "User:a\nb"},
		`principal User:* matches every user`:                {Principal: "User:*"},
		`principal User:CN=a cannot be part of a group name`: {Principal: "User:CN=a"},
		`group prefix "*" must be 1 to 200 letters`:          {Principal: "User:a", GroupPrefix: "*"},
		`group prefix "mill" includes millrace-sink`:         {Principal: "User:a", GroupPrefix: "mill"},
		`group prefix "millrace-" includes millrace-sink`:    {Principal: "User:millrace"},
		`unknown topic "events"`:                             {Principal: "User:a", Topics: []string{"events.v1", "events"}},
	} {
		acls, err := tapper.ACLs(config.Kafka{}, "millrace-sink", "millrace-sink-backfill")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, %v, want %q", tapper, acls, err, want)
		}
	}
	if _, err := (Tapper{Principal: "User:a", GroupPrefix: "millrace-sinks-"}).ACLs(config.Kafka{},
		"millrace-sink"); err != nil {
		t.Errorf("a prefix that only begins like the service's group: %v", err)
	}
}

func TestCreatedPermissionsAreThoseThatWerePrinted(t *testing.T) {
	t.Parallel()
	cfg := kafkatest.Secured(t)
	acls, err := Tapper{Principal: "User:alice"}.ACLs(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := CreateACLs(t.Context(), cfg, acls); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	err = withAdmin(t.Context(), cfg, func(ctx context.Context, adm *kadm.Client) error {
		results, err := adm.DescribeACLs(ctx, kadm.NewACLs().AnyResource().Allow().AllowHosts().
			Operations(kadm.OpAny).ResourcePatternType(kadm.ACLPatternAny))
		for _, r := range results {
			for _, d := range r.Described {
				described[strings.Join([]string{
					d.Permission.String(), d.Principal, d.Host, d.Operation.String(), d.Type.String(), d.Pattern.String(), d.Name,
				}, " ")] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, line := range spelled(acls) {
		want[line] = true
	}
	if diff := cmp.Diff(want, described); diff != "" {
		t.Errorf("ACLs at the broker (-printed +created):\n%s", diff)
	}
}
