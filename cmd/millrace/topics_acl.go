package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
)

// aclFlags are the flags of `millrace topics acl`.
type aclFlags struct {
	tapper kafka.Tapper
	format string
	apply  bool
}

// aclFormats write permissions for somebody who is to create them.
var aclFormats = map[string]func(io.Writer, config.Kafka, []kafka.ACL) error{
	"kafka-acls": printCommands,
	"json":       printJSON,
}

func newTopicsACL() *cobra.Command {
	var f aclFlags
	cmd := &cobra.Command{
		Use:   "acl",
		Short: "Print the permissions for read-only access to topics",
		Long: `Prints the permissions that a principal needs to read topics with a consumer group of its
own, and no others: Describe and Read on each topic, and Read on the groups whose names
begin with the prefix. It never grants write access. Without --topics it covers every
topic except the dead-letter topics.

By default it does not contact the brokers. It prints commands for Kafka's kafka-acls.sh,
or JSON. With --apply it creates the permissions as kafka.sasl.user, which must be allowed
to alter the cluster. Existing permissions stay.`,
		Example: `  millrace topics acl --principal User:alice
  millrace topics acl --principal User:alice --topics events.v1 --group warehouse- --format json
  MILLRACE_KAFKA_SASL_PASSWORD=… millrace topics acl --principal User:alice --apply \
    --kafka.sasl.mechanism scram-sha-512 --kafka.sasl.user admin`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			return f.run(cmd, s)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tapper.Principal, "principal", "", "`PRINCIPAL` to grant read access, such as User:alice "+
		"(required)")
	flags.StringSliceVar(&f.tapper.Topics, "topics", nil, "only these `TOPICS`, without prefix, comma-separated")
	flags.StringVar(&f.tapper.GroupPrefix, "group", "",
		"`PREFIX` of its consumer groups (default: the principal's name and a hyphen)")
	flags.StringVar(&f.format, "format", "kafka-acls", "output `FORMAT`: kafka-acls or json")
	flags.BoolVar(&f.apply, "apply", false, "create the permissions instead of printing them")
	return cmd
}

func (f *aclFlags) run(cmd *cobra.Command, s config.Settings) error {
	write, ok := aclFormats[f.format]
	switch {
	case !ok:
		return fmt.Errorf("--format must be kafka-acls or json, not %q", f.format)
	case f.tapper.Principal == "":
		return errors.New("--principal is required")
	}
	acls, err := f.tapper.ACLs(s.Kafka, groupsOf(pipelinesOf(s.Sink))...)
	if err != nil {
		return err
	}
	if !f.apply {
		return write(cmd.OutOrStdout(), s.Kafka, acls)
	}
	if err := kafka.CreateACLs(cmd.Context(), s.Kafka, acls); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s may read %s\n", f.tapper.Principal, resources(acls))
	return err
}

// resources lists what the permissions are about, each once.
func resources(acls []kafka.ACL) string {
	var names []string
	last := ""
	for i := range acls {
		if acls[i].ResourceName == last {
			continue
		}
		last = acls[i].ResourceName
		if acls[i].PatternType == "PREFIXED" {
			names = append(names, "with groups "+last+"*")
			continue
		}
		names = append(names, last)
	}
	return strings.Join(names, ", ")
}

func printJSON(w io.Writer, _ config.Kafka, acls []kafka.ACL) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(acls)
}

// printCommands writes one command per permission, so that each can be read,
// left out or repeated on its own.
func printCommands(w io.Writer, cfg config.Kafka, acls []kafka.ACL) error {
	fmt.Fprintln(w, "# if the brokers require authentication, add --command-config FILE")
	for i := range acls {
		a := &acls[i]
		_, err := fmt.Fprintf(w,
			"kafka-acls.sh --bootstrap-server %s --add --allow-principal %s --operation %s --%s %s --resource-pattern-type %s\n",
			quoted(strings.Join(cfg.Brokers, ",")), quoted(a.Principal), titled(a.Operation),
			strings.ToLower(a.ResourceType), quoted(a.ResourceName), strings.ToLower(a.PatternType))
		if err != nil {
			return err
		}
	}
	return nil
}

// titled spells an operation as kafka-acls.sh shows it: Read for READ.
func titled(operation string) string { return operation[:1] + strings.ToLower(operation[1:]) }

// quoted keeps a shell from reading anything into a text.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
