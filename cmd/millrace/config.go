package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/platform/config"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check, print and explain the settings",
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Check the settings; print ok or every problem",
		Example: `  millrace config check --config.file millrace.yaml
  MILLRACE_LOG_LEVEL=loud millrace config check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := settingsOf(cmd); err != nil && !errors.Is(err, errShown) {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ok")
			return nil
		},
	}, &cobra.Command{
		Use:     "print",
		Short:   "Print every setting with its value and source; secrets are hidden",
		Example: `  millrace config print --config.file millrace.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, meta, err := settingsOf(cmd)
			if errors.Is(err, errShown) {
				return nil
			}
			if err != nil {
				return err
			}
			return config.Print(cmd.OutOrStdout(), s, meta)
		},
	}, &cobra.Command{
		Use:     "reference",
		Short:   "List every setting with its key, environment variable, default and meaning",
		Example: `  millrace config reference | grep -A2 kafka`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "KEY AND FLAG\tENVIRONMENT\tDEFAULT\tMEANING")
			for _, f := range config.Fields() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Key, f.Env, f.Default, f.Help)
			}
			return w.Flush()
		},
	})
	return cmd
}
