package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/apikey"
	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/auth"
	"github.com/millrace/millrace/internal/config"
	"github.com/millrace/millrace/internal/fault"
	"github.com/millrace/millrace/internal/store"
)

const allScopes = "all"

func newKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke API keys",
	}
	cmd.AddCommand(newKeysCreate(), newKeysList(), newKeysRevoke())
	return cmd
}

// keyFlags are the flags of `millrace keys create`.
type keyFlags struct {
	name, organization, website, expires string
	scopes                               []string
}

func newKeysCreate() *cobra.Command {
	var f keyFlags
	var scopes strings.Builder
	for _, s := range auth.Scopes {
		fmt.Fprintf(&scopes, "  %-20s %s\n", s.Scope, s.Grants)
	}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key and print its secret, once",
		Long: `Creates an API key and prints its secret, which is shown only now: the store
keeps its hash. The scopes are

` + scopes.String() + `
and "all" for every one of them.`,
		Example: `  millrace keys create --name server --scope track:events --website web_01JD…
  millrace keys create --name dashboards --scope read:data --expires 2160h
  millrace keys create --name admin --scope all --organization org_01JD…`,
		Args: cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, s config.Settings, db *store.Store) error {
			return f.create(cmd, s.Key.Prefix, db, time.Now().UTC())
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME` of the key (required)")
	flags.StringArrayVar(&f.scopes, "scope", nil, "a `SCOPE`, or all; may be given more than once (required)")
	flags.StringVar(&f.organization, "organization", "", "organization `ID`; may be left out when there is only one")
	flags.StringVar(&f.website, "website", "", "limit the key to this website `ID`")
	flags.StringVar(&f.expires, "expires", "", "`WHEN` the key expires: 720h from now, or a time such as 2027-01-01T00:00:00Z; never when left out")
	return cmd
}

func (f *keyFlags) create(cmd *cobra.Command, prefix string, db *store.Store, now time.Time) error {
	scopes, err := parseScopes(f.scopes)
	if err != nil {
		return err
	}
	expires, err := parseExpires(f.expires, now)
	if err != nil {
		return err
	}
	organization, err := organizationOf(cmd.Context(), db, f.organization)
	if err != nil {
		return err
	}
	key, secret, err := keysOf(prefix, db).Create(cmd.Context(), apikey.Spec{
		OrganizationID: organization, WebsiteID: f.website, Name: f.name, Scopes: scopes, ExpiresAt: expires,
	}, byOperator)
	if err != nil {
		return told(err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "created %s (%s); the secret is shown only now:\n", key.ID, strings.Join(key.Scopes, ", "))
	_, err = fmt.Fprintln(cmd.OutOrStdout(), secret) // alone, for KEY=$(millrace keys create …)
	return err
}

// byOperator is how the audit calls whoever runs this command.
var byOperator = audit.By{Actor: audit.Actor{Type: audit.Operator, Name: "millrace"}}

// told writes a refusal as the operator reads it: every rule that was broken.
func told(err error) error {
	if !fault.Is(err, fault.Validation) {
		return err
	}
	var rules []string
	for _, d := range fault.Of(err).Details {
		rules = append(rules, d.Message)
	}
	return errors.New(strings.Join(rules, "; "))
}

func keysOf(prefix string, db *store.Store) *apikey.Service {
	return apikey.NewService(apikey.Config{Prefix: prefix, Scopes: auth.AllScopes().Strings()}, db, nil)
}

func parseScopes(names []string) ([]string, error) {
	if len(names) == 1 && names[0] == allScopes {
		return auth.AllScopes().Strings(), nil
	}
	set, err := auth.ParseScopes(names)
	if err != nil {
		return nil, fmt.Errorf("--scope: %w", err)
	}
	return set.Strings(), nil
}

// parseExpires reads a duration from now, or a time; zero for never.
func parseExpires(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--expires: %q is neither a duration such as 720h nor a time such as %s", text, now.AddDate(1, 0, 0).Format(time.RFC3339))
	}
	return t.UTC(), nil
}

// organizationOf returns the named organization, or the only one.
func organizationOf(ctx context.Context, db *store.Store, id string) (string, error) {
	if id != "" {
		o, err := db.OrganizationByID(ctx, id)
		if err != nil {
			return "", fmt.Errorf("--organization %s: %w", id, err)
		}
		return o.ID, nil
	}
	all, err := db.ListOrganizations(ctx)
	if err != nil {
		return "", err
	}
	if len(all) == 1 {
		return all[0].ID, nil
	}
	choices := make([]string, len(all))
	for i, o := range all {
		choices[i] = fmt.Sprintf("%s (%s)", o.ID, o.Name)
	}
	if len(all) == 0 {
		return "", errors.New("there is no organization yet: make one with millrace bootstrap")
	}
	return "", fmt.Errorf("--organization is needed, one of %s", strings.Join(choices, ", "))
}

func newKeysList() *cobra.Command {
	var organization string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List an organization's API keys, revoked ones too",
		Example: `  millrace keys list --organization org_01JD…`,
		Args:    cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, _ config.Settings, db *store.Store) error {
			id, err := organizationOf(cmd.Context(), db, organization)
			if err != nil {
				return err
			}
			keys, err := db.ListKeys(cmd.Context(), apikey.Filter{OrganizationID: id})
			if err != nil {
				return err
			}
			return printKeys(cmd.OutOrStdout(), keys, time.Now())
		}),
	}
	cmd.Flags().StringVar(&organization, "organization", "", "organization `ID`; may be left out when there is only one")
	return cmd
}

func printKeys(out io.Writer, keys []*apikey.Key, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tSTARTS\tSTATE\tWEBSITE\tEXPIRES\tSCOPES")
	for _, k := range keys {
		website := k.WebsiteID
		if website == "" {
			website = "(all)"
		}
		expires := "never"
		if !k.ExpiresAt.IsZero() {
			expires = k.ExpiresAt.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\t%s\t%s\n",
			k.ID, k.Name, k.Start, keyState(k, now), website, expires, keyScopes(k.Scopes))
	}
	return w.Flush()
}

func keyState(k *apikey.Key, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.Active(now):
		return "expired"
	}
	return "active"
}

func keyScopes(scopes []string) string {
	if len(scopes) == len(auth.Scopes) {
		return allScopes
	}
	return strings.Join(scopes, ",")
}

func newKeysRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEY-ID",
		Short: "Revoke an API key, for good",
		Long: `Revokes an API key. That is final. Running daemons refuse the key within 5
seconds (the setting lookup.fresh).`,
		Example: `  millrace keys revoke key_01JD…`,
		Args:    cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, s config.Settings, db *store.Store) error {
			key, err := db.KeyByID(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			target := apikey.Target{OrganizationID: key.OrganizationID, ID: key.ID}
			if _, err := keysOf(s.Key.Prefix, db).Revoke(cmd.Context(), target, byOperator); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "revoked %s (%s)\n", key.ID, key.Name)
			return err
		}),
	}
}

// withStore runs a command with an open metadata store.
func withStore(run func(cmd *cobra.Command, args []string, s config.Settings, db *store.Store) error) func(*cobra.Command, []string) error {
	return withSettings(func(cmd *cobra.Command, args []string, s config.Settings) (err error) {
		db, err := store.Open(cmd.Context(), s.Store.URL.Reveal(), store.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if err := db.CheckSchema(cmd.Context()); err != nil {
			return err
		}
		return run(cmd, args, s, db)
	})
}
