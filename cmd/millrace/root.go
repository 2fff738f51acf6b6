package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/app/standalone"
	"github.com/millrace/millrace/internal/platform/config"
)

// errShown ends a command whose flags asked for an answer that was given,
// such as --config.print.
var errShown = errors.New("shown")

// shownSettings are the settings that every --help lists; the others are there
// too, and `millrace config reference` lists them all.
var shownSettings = map[string]bool{
	"data.dir": true, "kafka.brokers": true, "clickhouse.addr": true, "store.url": true, "config.file": true,
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "millrace",
		Short: "Collect and query web analytics events",
		Long: `millrace runs the whole product in one process (millrace standalone), and operates a
deployment of it.

Every setting is a flag of every command, an environment variable and a key of the
settings file: --kafka.brokers is MILLRACE_KAFKA_BROKERS and kafka.brokers. "millrace
config reference" lists them. Where the settings give no address of a backend, a command
uses the backend of the standalone process on this machine.

An interrupted command exits with 130, or with a code that its help lists. "standalone",
"status --watch", and "tap" without --exit run until they are interrupted; they then exit
with 0. An interrupted "load" reports what it sent and exits with 0.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	flags := root.PersistentFlags()
	config.AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) { f.Hidden = !shownSettings[f.Name] })
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return config.SuggestFlag(cmd.Flags(), err) })
	root.AddCommand(newStandalone(), newMigrate(), newBootstrap(), newTopics(), newTap(), newDLQ(), newImport(), newLoad(),
		newStatus(), newDoctor(), newVerify(), newReplay(), newRollups(), newErasures(), newUsers(), newOrgs(), newLinks(),
		newKeys(), newAudit(), newConfig(), newHealth(), newVersion())
	return root
}

// settingsOf loads the settings of a command, which opens the listeners named by their keys.
func settingsOf(cmd *cobra.Command, serves ...string) (config.Settings, config.Meta, error) {
	s, meta, err := config.LoadFlags(cmd.Flags(), config.Options{
		Name: cmd.CommandPath(), Output: cmd.OutOrStdout(), Serves: serves,
	})
	if err == nil && meta.Done {
		err = errShown
	}
	return s, meta, err
}

// withSettings runs a command with its settings, in which the backends that
// nobody named are those of a standalone on this machine.
func withSettings(
	run func(cmd *cobra.Command, args []string, s config.Settings) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, _, err := settingsOf(cmd)
		if errors.Is(err, errShown) {
			return nil
		}
		if err != nil {
			return err
		}
		return run(cmd, args, standalone.Local(s))
	}
}
