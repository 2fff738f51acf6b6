package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/managed"
)

const (
	flagRateLimit  = "rate-limit"
	flagRateWindow = "rate-window"
)

// keyFlags are the settings of a key, for `millrace keys create` and `update`.
type keyFlags struct {
	name, expires string
	scopes, tags  []string
	ips           []string
	rateLimit     int
	rateWindow    time.Duration
	idleDays      int
	json          bool
}

func (f *keyFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.name, "name", "", "`NAME` of the key")
	flags.StringArrayVar(&f.scopes, "scope", nil, "a `SCOPE`, or all; may be repeated")
	flags.StringVar(&f.expires, "expires", never,
		"`WHEN` the key expires: a duration such as 720h, a time such as 2027-01-01T00:00:00Z, or never")
	flags.Lookup("expires").DefValue = "" // nothing to tell: a key that is changed keeps what it has
	flags.IntVar(&f.rateLimit, flagRateLimit, 0,
		"the key's own limit of `REQUESTS` per window, over all endpoints; 0 means no own limit")
	flags.DurationVar(&f.rateWindow, flagRateWindow, apikey.DefaultRateWindow, "`DURATION` of that window")
	flags.StringArrayVar(&f.ips, "ip", nil,
		"accept the key only from this `ADDRESS` or range; may be repeated, and empty allows all addresses")
	flags.IntVar(&f.idleDays, "idle-days", 0, "expire the key after this number of `DAYS` without use; 0 means never")
	flags.StringArrayVar(&f.tags, "tag", nil, "a `TAG`; may be repeated, and empty removes all tags")
	flags.BoolVar(&f.json, "json", false, "print a JSON object")
}

// limit is the limit that was asked for, if one was, without a window unless one was given:
// what the key has stays then.
func (f *keyFlags) limit(flags *pflag.FlagSet) (limit apikey.RateLimit, asked bool, err error) {
	asked = flags.Changed(flagRateLimit)
	switch window := flags.Changed(flagRateWindow); {
	case window && !asked:
		err = errors.New("--" + flagRateWindow + " requires --" + flagRateLimit)
	case asked && f.rateLimit != 0:
		limit.Enabled, limit.Limit = true, f.rateLimit
		if window {
			limit.Window = f.rateWindow
		}
	}
	return limit, asked, err
}

func newKeysCreate() *cobra.Command {
	var f keyFlags
	var organization, website string
	var scopes strings.Builder
	for _, s := range auth.Scopes {
		fmt.Fprintf(&scopes, "  %-20s %s\n", s.Scope, s.Grants)
	}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key, and print its secret once",
		Long: `Creates an API key and prints its secret. The secret is shown only now, because the store
keeps only its hash. A name and at least one scope are required. The scopes are:

` + scopes.String() + `
The name "all" grants every scope.`,
		Example: `  millrace keys create --name server --scope track:events --website web_01JD…
  millrace keys create --name dashboards --scope read:data --expires 2160h --ip 203.0.113.0/24
  KEY=$(millrace keys create --name admin --scope all --organization org_01JD…)`,
		Args: cobra.NoArgs,
		RunE: withKeys(func(cmd *cobra.Command, _ []string, keys *keyService) error {
			return f.create(cmd, keys, organization, website)
		}),
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&organization, "organization", "", "organization `ID`; required if there are several")
	cmd.Flags().StringVar(&website, "website", "", "limit the key to this website `ID`")
	return cmd
}

func (f *keyFlags) create(cmd *cobra.Command, keys *keyService, organization, website string) error {
	scopes, err := parseScopes(f.scopes)
	if err != nil {
		return err
	}
	expires, err := parseExpires(f.expires, keys.now)
	if err != nil {
		return err
	}
	if organization, err = organizationOf(cmd.Context(), keys.db, organization); err != nil {
		return err
	}
	limit, _, err := f.limit(cmd.Flags())
	if err != nil {
		return err
	}
	k, secret, err := keys.Create(cmd.Context(), operator(), apikey.Spec{
		OrganizationID: organization, WebsiteID: website, Name: f.name, Scopes: scopes, ExpiresAt: expires,
		RateLimit: limit, IPAllow: notEmpty(f.ips), IdleExpiryDays: f.idleDays, Tags: notEmpty(f.tags),
	})
	if err != nil {
		return err
	}
	return f.tell(cmd, keys, k, secret, "created")
}

// tell prints a secret alone on the output, so that a shell can take it, and the
// rest beside it; or all as JSON.
func (f *keyFlags) tell(cmd *cobra.Command, keys *keyService, k *apikey.Key, secret, done string) error {
	if f.json {
		return printKey(cmd.OutOrStdout(), k, secret, keys.now)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s %s (%s); the secret is shown only once:\n", done, k.ID, strings.Join(k.Scopes, ", "+
		""))
	_, err := fmt.Fprintln(cmd.OutOrStdout(), secret)
	return err
}

func newKeysUpdate() *cobra.Command {
	var f keyFlags
	cmd := &cobra.Command{
		Use:   "update KEY-ID",
		Short: "Change an API key's settings",
		Long: `Changes the settings whose flags are given; the others stay. A list of scopes, addresses
or tags replaces the whole list.`,
		Example: `  millrace keys update key_01JD… --expires 720h --rate-limit 600
  millrace keys update key_01JD… --ip "" --expires never`,
		Args: cobra.ExactArgs(1),
		RunE: withKeys(func(cmd *cobra.Command, args []string, keys *keyService) error {
			patch, err := f.patch(cmd.Flags(), keys.now)
			if err != nil {
				return err
			}
			t, err := keys.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			k, err := keys.Update(cmd.Context(), operator(), t, patch)
			if err != nil {
				return err
			}
			return done(cmd, f.json, "updated", k, keys.now)
		}),
	}
	f.add(cmd.Flags())
	window := cmd.Flags().Lookup(flagRateWindow)
	window.Usage += "; without it the key keeps its window"
	window.DefValue = "0s" // help shows no zero default
	return cmd
}

// patch makes a change of the flags that were given.
func (f *keyFlags) patch(flags *pflag.FlagSet, now time.Time) (p apikey.Patch, err error) {
	if flags.Changed("name") {
		p.Name = &f.name
	}
	if flags.Changed("scope") {
		scopes, err := parseScopes(f.scopes)
		if err != nil {
			return p, err
		}
		p.Scopes = &scopes
	}
	if flags.Changed("expires") {
		expires, err := parseExpires(f.expires, now)
		if err != nil {
			return p, err
		}
		p.ExpiresAt = &expires
	}
	limit, asked, err := f.limit(flags)
	if err != nil {
		return p, err
	}
	if asked {
		p.RateLimit = &limit
	}
	if flags.Changed("ip") {
		ips := notEmpty(f.ips)
		p.IPAllow = &ips
	}
	if flags.Changed("idle-days") {
		p.IdleExpiryDays = &f.idleDays
	}
	if flags.Changed("tag") {
		tags := notEmpty(f.tags)
		p.Tags = &tags
	}
	return p, nil
}

// notEmpty leaves out empty texts, with which a list is cleared.
func notEmpty(texts []string) []string {
	var kept []string
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

func newKeysRotate() *cobra.Command {
	var f keyFlags
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "rotate KEY-ID",
		Short: "Give an API key a new secret, and print it once",
		Long: `Gives an API key a new secret. The old secret stops working at once, or at the end of the
grace period. A secret that an earlier rotation left in its grace period stops working at
once.`,
		Example: `  millrace keys rotate key_01JD… --grace 1h`,
		Args:    cobra.ExactArgs(1),
		RunE: withKeys(func(cmd *cobra.Command, args []string, keys *keyService) error {
			t, err := keys.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			k, secret, err := keys.Rotate(cmd.Context(), operator(), t, grace)
			if err != nil {
				return err
			}
			return f.tell(cmd, keys, k, secret, "rotated")
		}),
	}
	cmd.Flags().DurationVar(&grace, "grace", 0, "`DURATION` for which the old secret is still accepted, up to 24h")
	cmd.Flags().BoolVar(&f.json, "json", false, "print a JSON object")
	return cmd
}

func newKeysRevoke() *cobra.Command {
	return newKeysEnd("revoke KEY-ID", "Revoke an API key permanently",
		`Revokes an API key. This cannot be undone. Running daemons reject the key within a
second, or within 5 seconds (lookup.fresh) while Kafka is unavailable.`, "revoked", (*apikey.Service).Revoke)
}

func newKeysDelete() *cobra.Command {
	return newKeysEnd("delete KEY-ID", "Delete an API key, revoked or not",
		`Revokes an API key and removes it from all lists. The audit log keeps the record of
the key.`,
		"deleted", (*apikey.Service).Delete)
}

// endKey is a rule that ends a key.
type endKey func(*apikey.Service, context.Context, audit.By, managed.Target) (*apikey.Key, error)

// newKeysEnd makes a command that ends a key.
func newKeysEnd(use, short, long, what string, end endKey) *cobra.Command {
	var asJSON bool
	verb, _, _ := strings.Cut(use, " ")
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Example: `  millrace keys ` + verb + ` key_01JD…`,
		Args:    cobra.ExactArgs(1),
		RunE: withKeys(func(cmd *cobra.Command, args []string, keys *keyService) error {
			t, err := keys.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			k, err := end(keys.Service, cmd.Context(), operator(), t)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return done(cmd, asJSON, what, k, keys.now)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// done says what was done to a key.
func done(cmd *cobra.Command, asJSON bool, what string, k *apikey.Key, now time.Time) error {
	if asJSON {
		return printKey(cmd.OutOrStdout(), k, "", now)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s (%s)\n", what, k.ID, printable(k.Name))
	return err
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

// never is what is said for a key that does not expire. An empty text, as an unset variable
// of a script leaves it, does not make one.
const never = "never"

// parseExpires reads a duration from now, or a time; zero for never.
func parseExpires(text string, now time.Time) (time.Time, error) {
	if text == never {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--expires must be a duration such as 720h or a time such as %[2]s, not %[1]q",
			text, now.AddDate(1, 0, 0).Format(time.RFC3339))
	}
	return t.UTC(), nil
}
