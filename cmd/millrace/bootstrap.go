package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/app/bootstrap"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/store"
)

func newBootstrap() *cobra.Command {
	var first bootstrap.First
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Make the first organization, owner, website and key, once",
		Long: `Makes what an empty installation needs before anybody can use it: an
organization, its owner, a website, and an API key with every scope. It prints
one NAME=value a line; the password and the key are shown only now, since the
store keeps their hashes.

Where there is an organization already it changes nothing, prints nothing to its
output, and ends well: a deployment can run it every time. With --json it prints
one object instead, which is empty when nothing was changed.`,
		Example: `  millrace bootstrap --organization "Acme" --domain shop.example --email owner@shop.example > millrace.env`,
		Args:    cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, s config.Settings, db *store.Store) error {
			for _, f := range []string{"organization", "domain", "email"} {
				if strings.TrimSpace(cmd.Flag(f).Value.String()) == "" {
					return errors.New("--" + f + " is required")
				}
			}
			if first.Website == "" {
				first.Website = first.Domain
			}
			return runBootstrap(cmd, s, db, first, asJSON)
		}),
	}
	first.KeyName = "bootstrap"
	flags := cmd.Flags()
	flags.StringVar(&first.Organization, "organization", "", "`NAME` of the organization (required)")
	flags.StringVar(&first.Domain, "domain", "", "`HOST` name of the website, such as shop.example (required)")
	flags.StringVar(&first.Website, "website", "", "`NAME` of the website; its host name when left out")
	flags.StringVar(&first.AdminEmail, "email", "", "`ADDRESS` that the owner signs in with (required)")
	flags.StringVar(&first.AdminName, "owner", "Owner", "`NAME` of the owner")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func runBootstrap(cmd *cobra.Command, s config.Settings, db *store.Store, first bootstrap.First, asJSON bool) error {
	a, made, err := bootstrap.Run(cmd.Context(), db, operator(), s.Key.Prefix, first)
	if err != nil {
		return err
	}
	if !made {
		fmt.Fprintln(cmd.ErrOrStderr(), "there is an organization already; nothing was changed")
		if asJSON {
			return printRecord(cmd, struct{}{})
		}
		return nil
	}
	if asJSON {
		return printRecord(cmd, map[string]string{
			"organizationId": a.OrganizationID, "websiteId": a.WebsiteID, "apiKey": a.APIKey,
			"adminEmail": a.AdminEmail, "adminPassword": a.AdminPassword,
		})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "ORGANIZATION_ID=%s\nWEBSITE_ID=%s\nAPI_KEY=%s\nADMIN_EMAIL=%s\nADMIN_PASSWORD=%s\n",
		a.OrganizationID, a.WebsiteID, a.APIKey, a.AdminEmail, a.AdminPassword)
	return err
}
