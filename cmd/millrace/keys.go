package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
)

const allScopes = "all"

func newKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list, change, revoke and delete API keys",
		Long: `Manages the API keys of every organization. The audit log records each change with the
name of the account that ran the command. Running daemons apply a change within a
second.`,
	}
	cmd.AddCommand(newKeysCreate(), newKeysList(), newKeysGet(), newKeysUpdate(), newKeysRotate(),
		newKeysRevoke(), newKeysDelete())
	return cmd
}

// keyService is the store with the rules of keys in front of it.
type keyService struct {
	*apikey.Service

	db  *store.Store
	now time.Time
}

// withKeys runs a command with the rules of keys. What a rule rejects is said as
// the operator reads it.
func withKeys(
	run func(cmd *cobra.Command, args []string, keys *keyService) error,
) func(*cobra.Command, []string) error {
	return withStore(func(cmd *cobra.Command, args []string, s config.Settings, db *store.Store) error {
		rules := apikey.Config{Prefix: s.Key.Prefix, Scopes: auth.AllScopes().Strings()}
		return told(run(cmd, args, &keyService{apikey.NewService(rules, db, nil), db, time.Now().UTC()}))
	})
}

// told says every rule that was broken, without the code for callers.
func told(err error) error {
	if !apierr.Is(err, apierr.Validation) {
		return err
	}
	var rules []string
	for _, d := range apierr.Of(err).Details {
		rules = append(rules, d.Message)
	}
	return errors.New(strings.Join(rules, "; "))
}

// target names a key of whatever organization.
func (d *keyService) target(ctx context.Context, id string) (managed.Target, error) {
	k, err := d.db.KeyByID(ctx, id)
	if err != nil {
		return managed.Target{}, fmt.Errorf("%s: %w", id, err)
	}
	return managed.Target{OrganizationID: k.OrganizationID, Ref: k.ID}, nil
}

// printKey prints a key as the responses of the operations have it.
func printKey(out io.Writer, k *apikey.Key, secret string, now time.Time) error {
	var body any = management.NewKeyBody(k, now)
	if secret != "" {
		body = management.SecretKeyBody{KeyBody: management.NewKeyBody(k, now), Secret: secret}
	}
	return json.NewEncoder(out).Encode(body)
}

func newKeysList() *cobra.Command {
	var f apikey.Filter
	var status string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List an organization's API keys, including revoked ones",
		Example: `  millrace keys list --organization org_01JD…
  millrace keys list --status active --json | jq -r .id`,
		Args: cobra.NoArgs,
		RunE: withKeys(func(cmd *cobra.Command, _ []string, keys *keyService) (err error) {
			if f.OrganizationID, err = organizationOf(cmd.Context(), keys.db, f.OrganizationID); err != nil {
				return err
			}
			if f.Status, err = parseStatus(status); err != nil {
				return err
			}
			return keys.list(cmd.Context(), cmd.OutOrStdout(), f, asJSON)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.OrganizationID, "organization", "", "organization `ID`; required if there are several")
	flags.StringVar(&f.WebsiteID, "website", "", "only keys that are limited to this website `ID`")
	flags.StringVar(&f.CreatedBy, "created-by", "", "only keys created by this user `ID`")
	flags.StringVar(&f.Tag, "tag", "", "only keys with this `TAG`")
	flags.StringVar(&f.Search, "search", "", "only keys with this `TEXT` in the name or at the start of the secret")
	flags.StringVar(&status, "status", "", "only keys with this status: active, revoked or expired")
	flags.BoolVar(&asJSON, "json", false, "print a JSON object for each key")
	return cmd
}

func parseStatus(text string) (apikey.Status, error) {
	switch s := apikey.Status(text); s {
	case "", apikey.Active, apikey.Revoked, apikey.Expired:
		return s, nil
	default:
		return "", fmt.Errorf("--status must be active, revoked or expired, not %q", text)
	}
}

func (d *keyService) list(ctx context.Context, out io.Writer, f apikey.Filter, asJSON bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "ID\tNAME\tSTARTS\tSTATE\tWEBSITE\tEXPIRES\tUSED\tSCOPES")
	}
	for {
		page, err := d.List(ctx, f)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return w.Flush()
		}
		for _, k := range page {
			if asJSON {
				err = printKey(out, k, "", d.now)
			} else {
				err = printRow(w, k, d.now)
			}
			if err != nil {
				return err
			}
		}
		f.After = page[len(page)-1].ID
	}
}

func printRow(w io.Writer, k *apikey.Key, now time.Time) error {
	website := k.WebsiteID
	if website == "" {
		website = "(all)"
	}
	_, err := fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\t%s\t%s\t%s\n",
		k.ID, printable(k.Name), k.Start, k.Status(now), website, orNever(k.ExpiresAt),
		orNever(k.LastUsedAt), keyScopes(k.Scopes))
	return err
}

func orNever(t time.Time) string {
	if t.IsZero() {
		return never
	}
	return t.Format(time.RFC3339)
}

func keyScopes(scopes []string) string {
	if len(scopes) == len(auth.Scopes) {
		return allScopes
	}
	return strings.Join(scopes, ",")
}

func newKeysGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get KEY-ID",
		Short:   "Print an API key as JSON, without its secret",
		Example: `  millrace keys get key_01JD…`,
		Args:    cobra.ExactArgs(1),
		RunE: withKeys(func(cmd *cobra.Command, args []string, keys *keyService) error {
			t, err := keys.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			k, err := keys.Get(cmd.Context(), t.OrganizationID, t.Ref)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return printKey(cmd.OutOrStdout(), k, "", keys.now)
		}),
	}
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
		return "", errors.New("no organization exists yet; create one with \"millrace bootstrap\"")
	}
	return "", fmt.Errorf("--organization is required; it must be one of %s", strings.Join(choices, ", "))
}

// withStore runs a command with an open metadata store.
func withStore(
	run func(cmd *cobra.Command, args []string, s config.Settings, db *store.Store) error,
) func(*cobra.Command, []string) error {
	return withSettings(func(cmd *cobra.Command, args []string, s config.Settings) (err error) {
		db, err := store.Connect(cmd.Context(), s.Store)
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
