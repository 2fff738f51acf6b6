package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/org"
)

// deletedOrg is an organization that was deleted as --json prints it.
type deletedOrg struct {
	ID              string    `json:"id"`
	Members         int       `json:"members"`
	Websites        int       `json:"websites"`
	APIKeys         int       `json:"apiKeys"`
	Links           int       `json:"links"`
	RestorableUntil time.Time `json:"restorableUntil"`
}

func newOrgsDelete() *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "delete ORGANIZATION-ID",
		Short: "Delete an organization with all its data; it can be restored for 30 days",
		Long: `Deletes an organization. Its members lose access, its API keys, websites and short links
stop working, and its invitations end. "millrace orgs restore" restores all of it within
30 days. After that the organization is removed permanently, with its events.`,
		Example: `  millrace orgs delete org_01JD… --name "Acme"`,
		Args:    cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, _ config.Settings, db *store.Store) error {
			service := org.NewService("", org.Deps{Deletions: db})
			d, err := service.Delete(cmd.Context(), operator(), args[0], name, 0)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if asJSON {
				return printRecord(cmd, deletedOrg{args[0], d.Members, d.Websites, d.APIKeys, d.Links, d.RestorableUntil})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"deleted %s (members: %d, websites: %d, API keys: %d, short links: %d); restorable until %s\n",
				args[0], d.Members, d.Websites, d.APIKeys, d.Links, d.RestorableUntil.Format(time.RFC3339))
			return err
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "exact `NAME` of the organization, as a confirmation (required)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newOrgsRestore() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restore ORGANIZATION-ID",
		Short: "Restore an organization within 30 days after its deletion",
		Example: `  millrace audit --action organization.deleted
  millrace orgs restore org_01JD…`,
		Args: cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, _ config.Settings, db *store.Store) error {
			// Without a user: the operator restores whosever it was.
			o, err := db.RestoreOrganization(cmd.Context(), operator(), args[0], "", time.Now().UTC())
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if asJSON {
				return printRecord(cmd, listedOrg{o.ID, o.Name, o.Slug, o.CreatedAt})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "restored %s (%s)\n", o.ID, o.Name)
			return err
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
