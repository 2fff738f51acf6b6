package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/platform/config"
)

func newTopics() *cobra.Command {
	topics := &cobra.Command{
		Use:   "topics",
		Short: "Create, check and grow the Kafka topics, and grant read access",
	}
	topics.AddCommand(newTopicsCreate(), &cobra.Command{
		Use:     "check",
		Short:   "Check that no topic is missing or may lose acknowledged records",
		Example: `  millrace topics check --kafka.brokers kafka-1:9092`,
		Args:    cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			if err := kafka.CheckTopics(cmd.Context(), s.Kafka); err != nil {
				return err
			}
			return checkSettings(cmd, s)
		}),
	}, newTopicsGrow(), newTopicsACL())
	return topics
}

// checkSettings prints what is found in the settings of topics, each with the command that
// makes it good, and returns an error when one breaks what an acknowledgement promises.
func checkSettings(cmd *cobra.Command, s config.Settings) error {
	found, err := kafka.Inspect(cmd.Context(), s.Kafka)
	if err != nil {
		return err
	}
	defects := kafka.Defects(s.Kafka, s.Sink.Window, found.Topics)
	for _, d := range defects {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s: %s\n  %s\n", d.Severity, d.What, d.Why, d.Do)
	}
	broken := slices.ContainsFunc(defects, func(d kafka.Defect) bool { return d.Severity == kafka.Breaks })
	switch {
	case broken && !s.Kafka.AllowWeakTopics:
		return kafka.ErrUnsafeTopics
	case len(defects) == 0:
		fmt.Fprintln(cmd.OutOrStdout(), "all topics exist")
	}
	return nil
}

func newTopicsCreate() *cobra.Command {
	var wait waitFlag
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create the missing topics",
		Long: `Creates the missing topics, with --kafka.partitions partitions (64) and
--kafka.replication replicas (3). It leaves existing topics unchanged. With --wait it may
be started before the brokers.`,
		Example: `  millrace topics create --kafka.brokers kafka-1:9092
  millrace topics create --kafka.brokers 127.0.0.1:9092 --kafka.partitions 4 --kafka.replication 1`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			if err := wait.until(cmd, kafka.Awaited(s.Kafka, nil).Answering()); err != nil {
				return err
			}
			created, err := kafka.EnsureTopics(cmd.Context(), s.Kafka)
			for _, name := range created {
				fmt.Fprintln(cmd.OutOrStdout(), "created", name)
			}
			if err == nil && len(created) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "all topics exist")
			}
			return err
		}),
	}
	wait.add(cmd)
	return cmd
}
