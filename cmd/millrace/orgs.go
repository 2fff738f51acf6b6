package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/org"
)

func newOrgs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "orgs",
		Short: "Manage organizations, their members and their quotas",
	}
	cmd.AddCommand(newOrgsCreate(), newOrgsList(), newOrgsDelete(), newOrgsRestore(), newOrgsMembers(), newOrgsSetMember(),
		newOrgsRemoveMember(), newOrgsQuota())
	return cmd
}

// listedOrg is an organization as --json prints it.
type listedOrg struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Slug      string    `json:"slug,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

func newOrgsCreate() *cobra.Command {
	var name, owner string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "create",
		Short:   "Create an organization and print its id",
		Example: `  millrace orgs create --name "Acme" --owner ann@shop.example`,
		Args:    cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, _ config.Settings, db *store.Store) error {
			now, by := time.Now().UTC(), operator()
			o, err := org.New(name, now)
			if err != nil {
				return err
			}
			if err := db.InTx(cmd.Context(), func(ctx context.Context, tx *store.Store) error {
				u, err := userOf(ctx, tx, owner)
				if err != nil {
					return fmt.Errorf("--owner: %w", err)
				}
				if err := tx.CreateOrganization(ctx, by, o); err != nil {
					return err
				}
				return tx.AddMember(ctx, by, &org.Member{OrganizationID: o.ID, UserID: u.ID, Role: org.RoleOwner, CreatedAt: now})
			}); err != nil {
				return err
			}
			if asJSON {
				return printRecord(cmd, listedOrg{ID: o.ID, Name: o.Name, CreatedAt: o.CreatedAt})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), o.ID)
			return err
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the organization (required)")
	cmd.Flags().StringVar(&owner, "owner", "", "email `ADDRESS` of the owner, an existing user (required)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// userOf returns the user with an address.
func userOf(ctx context.Context, db *store.Store, address string) (*org.User, error) {
	email, err := org.NormalizeEmail(address)
	if err != nil {
		return nil, err
	}
	u, err := db.UserByEmail(ctx, email)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", email, err)
	}
	return u, nil
}

func newOrgsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List every organization",
		Example: `  millrace orgs list --json | jq -r .id`,
		Args:    cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, _ config.Settings, db *store.Store) error {
			all, err := db.ListOrganizations(cmd.Context())
			if err != nil {
				return err
			}
			row, flush := table(io.Discard)
			if !asJSON {
				row, flush = table(cmd.OutOrStdout(), "ID", "NAME", "SLUG", "CREATED")
			}
			for _, o := range all {
				if asJSON {
					if err := printRecord(cmd, listedOrg{o.ID, o.Name, o.Slug, o.CreatedAt}); err != nil {
						return err
					}
					continue
				}
				row(o.ID, o.Name, o.Slug, o.CreatedAt.Format(time.RFC3339))
			}
			return flush()
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// listedMember is a member as --json prints it.
type listedMember struct {
	UserID   string    `json:"userId"`
	Email    string    `json:"email"`
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	JoinedAt time.Time `json:"joinedAt"`
}

func newOrgsMembers() *cobra.Command {
	var organization string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "members",
		Short:   "List the members of an organization",
		Example: `  millrace orgs members --organization org_01JD…`,
		Args:    cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, _ config.Settings, db *store.Store) error {
			id, err := organizationOf(cmd.Context(), db, organization)
			if err != nil {
				return err
			}
			return listMembers(cmd, db, id, asJSON)
		}),
	}
	organizationFlag(cmd, &organization)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func organizationFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "organization", "", "organization `ID`; required if there are several")
}

func listMembers(cmd *cobra.Command, db *store.Store, organizationID string, asJSON bool) error {
	row, flush := table(io.Discard)
	if !asJSON {
		row, flush = table(cmd.OutOrStdout(), "USER", "EMAIL", "NAME", "ROLE", "JOINED")
	}
	for after := ""; ; {
		people, err := db.ListPeople(cmd.Context(), organizationID, after, 0)
		if err != nil {
			return err
		}
		if len(people) == 0 {
			return flush()
		}
		for _, p := range people {
			after = p.UserID
			if asJSON {
				if err := printRecord(cmd, listedMember{p.UserID, p.Email, p.Name, string(p.Role), p.CreatedAt}); err != nil {
					return err
				}
				continue
			}
			row(p.UserID, p.Email, p.Name, p.Role, p.CreatedAt.Format(time.RFC3339))
		}
	}
}

func newOrgsSetMember() *cobra.Command {
	var organization, role string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "set-member ADDRESS",
		Short:   "Add a user to an organization, or change the user's role",
		Example: `  millrace orgs set-member ann@shop.example --role owner --organization org_01JD…`,
		Args:    cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, _ config.Settings, db *store.Store) error {
			r, err := org.ParseRole(role)
			if err != nil {
				return fmt.Errorf("--role: %w", err)
			}
			var u *org.User
			id, err := organizationOf(cmd.Context(), db, organization)
			if err == nil {
				u, err = userOf(cmd.Context(), db, args[0])
			}
			if err == nil {
				err = setMember(cmd.Context(), db, id, u.ID, r)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return printRecord(cmd, map[string]string{"organizationId": id, "userId": u.ID, "role": role})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s (%s) is %s in %s\n", u.ID, u.Email, r, id)
			return err
		}),
	}
	organizationFlag(cmd, &organization)
	cmd.Flags().StringVar(&role, "role", "", "`ROLE`: owner, admin, editor or viewer (required)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// agreed lets the operator change any role; only the last owner stays one.
func agreed(org.Role) error { return nil }

func setMember(ctx context.Context, db *store.Store, organizationID, userID string, role org.Role) error {
	return db.InTx(ctx, func(ctx context.Context, tx *store.Store) error {
		now := time.Now().UTC()
		_, err := tx.SetRole(ctx, operator(), organizationID, userID, role, now, agreed)
		if errors.Is(err, org.ErrMemberNotFound) {
			return tx.AddMember(ctx, operator(),
				&org.Member{OrganizationID: organizationID, UserID: userID, Role: role, CreatedAt: now})
		}
		return err
	})
}

func newOrgsRemoveMember() *cobra.Command {
	var organization string
	var asJSON, revoke bool
	cmd := &cobra.Command{
		Use:   "remove-member ADDRESS",
		Short: "Remove a user from an organization, and list the API keys that the user created",
		Example: `  millrace orgs remove-member ann@shop.example --organization org_01JD…
  millrace orgs remove-member ann@shop.example --revoke-keys`,
		Args: cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, _ config.Settings, db *store.Store) error {
			var u *org.User
			id, err := organizationOf(cmd.Context(), db, organization)
			if err == nil {
				u, err = userOf(cmd.Context(), db, args[0])
			}
			var made *org.MadeKeys
			if err == nil {
				gone := org.Departure{OrganizationID: id, UserID: u.ID, RevokeKeys: revoke}
				made, err = db.RemoveMember(cmd.Context(), operator(), gone, time.Now().UTC(), agreed)
			}
			if err != nil {
				return err
			}
			return printDeparture(cmd, id, u, made, asJSON)
		}),
	}
	organizationFlag(cmd, &organization)
	cmd.Flags().BoolVar(&revoke, "revoke-keys", false, "revoke the API keys that the user created in the organization")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// departure is a member who went as --json prints it.
type departure struct {
	OrganizationID string   `json:"organizationId"`
	UserID         string   `json:"userId"`
	APIKeys        []string `json:"apiKeys"`
	APIKeysTotal   int      `json:"apiKeysTotal"`
	APIKeysRevoked bool     `json:"apiKeysRevoked"`
}

func printDeparture(cmd *cobra.Command, organizationID string, u *org.User, made *org.MadeKeys, asJSON bool) error {
	ids := make([]string, len(made.Keys))
	for i, k := range made.Keys {
		ids[i] = k.ID
	}
	if asJSON {
		return printRecord(cmd, departure{organizationID, u.ID, ids, made.Total, made.Revoked})
	}
	out := fmt.Sprintf("removed %s (%s) from %s\n", u.ID, u.Email, organizationID)
	switch {
	case made.Total > 0 && made.Revoked:
		out += fmt.Sprintf("revoked %d API keys that the user created: %s\n", made.Total, strings.Join(ids, " "))
	case made.Total > 0:
		out += fmt.Sprintf("%d API keys that the user created still work: %s\n", made.Total, strings.Join(ids, " "))
	}
	_, err := io.WriteString(cmd.OutOrStdout(), out)
	return err
}
