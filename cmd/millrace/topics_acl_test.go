package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
)

func TestPermissionsArePrintedAsCommands(t *testing.T) {
	t.Parallel()
	got := mustMillrace(t, "topics", "acl", "--principal", "User:o'hara", "--topics", "events.v1", "--group", "tap-",
		"--kafka.brokers", "kafka-1:9092,kafka-2:9092", "--kafka.topic_prefix", "acme.")
	const allow = `kafka-acls.sh --bootstrap-server 'kafka-1:9092,kafka-2:9092' --add --allow-principal 'User:o'\''hara' --operation `
	want := "# if the brokers require authentication, add --command-config FILE\n" +
		allow + "Describe --topic 'acme.events.v1' --resource-pattern-type literal\n" +
		allow + "Read --topic 'acme.events.v1' --resource-pattern-type literal\n" +
		allow + "Read --group 'tap-' --resource-pattern-type prefixed\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func TestPermissionsArePrintedAsJSON(t *testing.T) {
	t.Parallel()
	out := mustMillrace(t, "topics", "acl", "--principal", "User:alice", "--topics", "events.v1.dlq", "--format", "json")
	var got []kafka.ACL
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	alice := kafka.ACL{
		Principal: "User:alice", Host: "*", PermissionType: "ALLOW", ResourceType: "TOPIC", ResourceName: "events.v1.dlq",
		PatternType: "LITERAL",
	}
	want := []kafka.ACL{alice, alice, alice}
	want[0].Operation, want[1].Operation, want[2].Operation = "DESCRIBE", "READ", "READ"
	want[2].ResourceType, want[2].ResourceName, want[2].PatternType = "GROUP", "alice-", "PREFIXED"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func TestPermissionsAreCreatedAsTheUserOfTheSettings(t *testing.T) {
	t.Parallel()
	cfg := kafkatest.Secured(t, "bob")
	args := []string{
		"topics", "acl", "--principal", "User:alice", "--apply", "--kafka.brokers", cfg.Brokers[0],
		"--kafka.sasl.mechanism", "plain", "--kafka.sasl.password", "secret", "--kafka.sasl.user",
	}
	got := mustMillrace(t, append(args, "admin")...)
	if want := "User:alice may read events.v1, events.backfill.v1, vitals.v1, errors.v1, ingestion.v1, clicks.v1, " +
		"exposures.v1, with groups alice-*\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if _, _, err := millrace(t, append(args, "bob")...); err == nil ||
		!strings.Contains(err.Error(), "CLUSTER_AUTHORIZATION_FAILED") {
		t.Errorf("as somebody who may not: %v", err)
	}
}

func TestPermissionsNeedAPrincipalAndAKnownFormat(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                           "--principal is required",
		"--principal User:a --format yaml":           `--format must be kafka-acls or json, not "yaml"`,
		"--principal User:a --topics x":              `unknown topic "x"; the topics are events.v1, `,
		"--principal User:a --group millrace":        `group prefix "millrace" includes millrace-sink`,
		"--principal User:a --sink.group a-sink":     `group prefix "a-" includes a-sink`,
		"--principal User:a --group millrace-sink-w": `group prefix "millrace-sink-w" includes millrace-sink-web`,
		"--principal User:a --group millrace-sink-e": `group prefix "millrace-sink-e" includes millrace-sink-exposures`,
		"--principal User:a --group millrace-sink-c": `group prefix "millrace-sink-c" includes millrace-sink-clicks`,
	} {
		_, _, err := millrace(t, append([]string{"topics", "acl"}, strings.Fields(args)...)...)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("topics acl %s: %v, want %q", args, err, want)
		}
	}
}
