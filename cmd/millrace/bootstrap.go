package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/kubernetes"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/bootstrap"
	"github.com/millrace/millrace/internal/platform/config"
)

func newBootstrap() *cobra.Command {
	var first bootstrap.First
	var to inCluster
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Create the first organization, owner, website and API key, once",
		Long: `Creates the first records of an empty installation: an organization, its owner, a
website, and an API key with every scope. It prints one NAME=value a line. The password
and the key are shown only now, because the store keeps only their hashes.

If an organization exists already, the command changes nothing, prints nothing to
standard output and exits with 0, so a deployment can run it every time. With --json it
prints one object instead, which is empty when nothing was changed.

With --kubernetes-secret it prints no secret. It writes the same names and values into
that Secret of its pod's namespace. The Secret must exist, and the pod's service account
must be allowed to patch it. If the write fails, nothing is created.`,
		Example: `  millrace bootstrap --organization "Acme" --domain shop.example --email owner@shop.example > millrace.env
  millrace bootstrap --organization "Acme" --domain shop.example --email owner@shop.example --kubernetes-secret millrace-first`,
		Args: cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, s config.Settings, db *store.Store) error {
			for _, f := range []string{"organization", "domain", "email"} {
				if strings.TrimSpace(cmd.Flag(f).Value.String()) == "" {
					return errors.New("--" + f + " is required")
				}
			}
			if first.Website == "" {
				first.Website = first.Domain
			}
			return runBootstrap(cmd, s, db, first, to, asJSON)
		}),
	}
	first.KeyName = "bootstrap"
	flags := cmd.Flags()
	flags.StringVar(&first.Organization, "organization", "", "`NAME` of the organization (required)")
	flags.StringVar(&first.Domain, "domain", "", "`HOST` name of the website, such as shop.example (required)")
	flags.StringVar(&first.Website, "website", "", "`NAME` of the website (default: its host name)")
	flags.StringVar(&first.AdminEmail, "email", "", "`ADDRESS` that the owner signs in with (required)")
	flags.StringVar(&first.AdminName, "owner", "Owner", "`NAME` of the owner")
	flags.StringVar(&to.secret, "kubernetes-secret", "", "write the values into the Secret `NAME` instead of printing "+
		"them")
	flags.StringVar(&to.api, "kubernetes-api", kubernetes.DefaultAPI, "`URL` of the Kubernetes API server, for "+
		"--kubernetes-secret")
	flags.StringVar(&to.account, "kubernetes-account", kubernetes.DefaultAccount,
		"`FOLDER` of the pod's service account, for --kubernetes-secret")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func runBootstrap(
	cmd *cobra.Command, s config.Settings, db *store.Store, first bootstrap.First, to inCluster, asJSON bool,
) error {
	deliver, err := to.deliver()
	if err != nil {
		return err
	}
	a, made, err := bootstrap.Run(cmd.Context(), db, operator(), s.Key.Prefix, first, deliver)
	switch {
	case err != nil:
		return err
	case !made:
		fmt.Fprintln(cmd.ErrOrStderr(), "an organization exists already; nothing was changed")
		if asJSON {
			return printRecord(cmd, struct{}{})
		}
		return nil
	case deliver != nil:
		_, err := fmt.Fprintf(cmd.OutOrStdout(),
			"created %s and its website %s; the owner's password and the key are in the Secret %s\n",
			a.OrganizationID, a.WebsiteID,
			to.secret)
		return err
	case asJSON:
		return printRecord(cmd, map[string]string{
			"organizationId": a.OrganizationID, "websiteId": a.WebsiteID, "apiKey": a.APIKey,
			"adminEmail": a.AdminEmail, "adminPassword": a.AdminPassword,
		})
	}
	for _, v := range variables(a) {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s=%s\n", v[0], v[1]); err != nil {
			return err
		}
	}
	return nil
}

// variables are the names and values of an account.
func variables(a bootstrap.Account) [][2]string {
	return [][2]string{
		{"ORGANIZATION_ID", a.OrganizationID},
		{"WEBSITE_ID", a.WebsiteID},
		{"API_KEY", a.APIKey},
		{"ADMIN_EMAIL", a.AdminEmail},
		{"ADMIN_PASSWORD", a.AdminPassword},
	}
}

// inCluster says which Secret an account is put into, and as whom; an empty
// secret means none.
type inCluster struct{ secret, api, account string }

// deliver returns what hands an account over, nil where it is printed.
func (c inCluster) deliver() (func(context.Context, bootstrap.Account) error, error) {
	if c.secret == "" {
		return nil, nil
	}
	pod, err := kubernetes.ReadAccount(c.api, c.account)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, a bootstrap.Account) error {
		values := map[string]string{}
		for _, v := range variables(a) {
			values[v[0]] = v[1]
		}
		return pod.PatchSecret(ctx, c.secret, values)
	}, nil
}
