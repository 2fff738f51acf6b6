package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/kafka"
)

func newTopics() *cobra.Command {
	topics := &cobra.Command{
		Use:   "topics",
		Short: "Create and check the Kafka topics, and say who may read them",
	}
	topics.AddCommand(newTopicsCreate(), &cobra.Command{
		Use:     "check",
		Short:   "Fail when a topic is missing",
		Example: `  millrace topics check --kafka.brokers kafka-1:9092`,
		Args:    cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			if err := kafka.CheckTopics(cmd.Context(), s.Kafka); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "all topics are there")
			return nil
		}),
	}, newTopicsGrow(), newTopicsACL())
	return topics
}

func newTopicsCreate() *cobra.Command {
	var wait waitFlag
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create the topics that are missing",
		Long: `Creates the topics that are missing, with --kafka.partitions partitions (64) and
--kafka.replication replicas (3). A topic that exists is left as it is.
With --wait it may be started before the brokers.`,
		Example: `  millrace topics create --kafka.brokers kafka-1:9092
  millrace topics create --kafka.brokers 127.0.0.1:9092 --kafka.partitions 4 --kafka.replication 1`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			if err := wait.until(cmd, kafka.Awaited(s.Kafka).Answering()); err != nil {
				return err
			}
			created, err := kafka.EnsureTopics(cmd.Context(), s.Kafka)
			for _, name := range created {
				fmt.Fprintln(cmd.OutOrStdout(), "created", name)
			}
			if err == nil && len(created) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "all topics are there")
			}
			return err
		}),
	}
	wait.add(cmd)
	return cmd
}
