package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
)

func newUsers() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "users",
		Short: "Create, list and verify users, and reset their passwords",
	}
	cmd.AddCommand(newUsersCreate(), newUsersList(), newUsersVerify(), newUsersResetPassword())
	return cmd
}

// userFlags are the flags of `millrace users create`.
type userFlags struct {
	email, name, organization, role string
	passwordStdin, json             bool
}

func newUsersCreate() *cobra.Command {
	var f userFlags
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a user, and print the password once",
		Long: `Creates a user, and adds the user to an organization if --organization is given. The
password is generated and printed. With --password-stdin it is read from the first line of
standard input. The store keeps only its hash. The email address counts as verified.`,
		Example: `  millrace users create --email ann@shop.example --name Ann --organization org_01JD… --role admin
  pass show ann | millrace users create --email ann@shop.example --name Ann --password-stdin`,
		Args: cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, _ config.Settings, db *store.Store) error {
			return f.create(cmd, db, time.Now().UTC())
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.email, "email", "", "`ADDRESS` that the user signs in with (required)")
	flags.StringVar(&f.name, "name", "", "`NAME` of the user (required)")
	flags.StringVar(&f.organization, "organization", "", "add the user to this organization `ID`")
	flags.StringVar(&f.role, "role", string(org.RoleViewer), "`ROLE` in the organization: owner, admin, editor or viewer")
	flags.BoolVar(&f.passwordStdin, "password-stdin", false, "read the password from standard input")
	jsonFlag(cmd, &f.json)
	return cmd
}

// madeUser is a user as --json prints it when it is made.
type madeUser struct {
	ID             string `json:"id"`
	Email          string `json:"email"`
	Name           string `json:"name"`
	OrganizationID string `json:"organizationId,omitempty"`
	Role           string `json:"role,omitempty"`
	Password       string `json:"password,omitempty"`
}

func (f *userFlags) create(cmd *cobra.Command, db *store.Store, now time.Time) error {
	role, err := org.ParseRole(f.role)
	if err != nil {
		return err
	}
	password, made, err := f.password(cmd.InOrStdin())
	if err != nil {
		return err
	}
	hash, err := org.HashPassword(password)
	if err != nil {
		return err
	}
	u, err := org.NewUser(f.email, f.name, hash, now)
	if err != nil {
		return err
	}
	u.VerifiedAt = now // by the operator's word
	by := operator()
	if err := db.InTx(cmd.Context(), func(ctx context.Context, tx *store.Store) error {
		if err := tx.CreateUser(ctx, by, u); err != nil || f.organization == "" {
			return err
		}
		return tx.AddMember(ctx, by, &org.Member{OrganizationID: f.organization, UserID: u.ID, Role: role, CreatedAt: now})
	}); err != nil {
		return err
	}
	shown := madeUser{ID: u.ID, Email: u.Email, Name: u.Name, OrganizationID: f.organization}
	if f.organization != "" {
		shown.Role = string(role)
	}
	if made {
		shown.Password = password
	}
	if f.json {
		return printRecord(cmd, shown)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "created %s (%s)\n", u.ID, u.Email)
	if made {
		fmt.Fprintln(cmd.ErrOrStderr(), "the password is shown only once:")
		fmt.Fprintln(cmd.OutOrStdout(), password) // alone, for PASSWORD=$(millrace users create …)
	}
	return nil
}

// password returns the one to set, and whether it was made up.
func (f *userFlags) password(in io.Reader) (password string, made bool, err error) {
	if !f.passwordStdin {
		return rand.Text(), true, nil
	}
	line, err := bufio.NewReader(io.LimitReader(in, org.MaxPasswordBytes+3)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", false, fmt.Errorf("reading the password: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), false, nil
}

func newUsersList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all users with their organizations",
		Example: `  millrace users list --json | jq -r .email`,
		Args:    cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, _ config.Settings, db *store.Store) error {
			return listUsers(cmd, db, asJSON)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// listedUser is a user as --json lists it.
type listedUser struct {
	ID            string             `json:"id"`
	Email         string             `json:"email"`
	Name          string             `json:"name"`
	CreatedAt     time.Time          `json:"createdAt"`
	EmailVerified bool               `json:"emailVerified"`
	Organizations []listedMembership `json:"organizations"`
}

type listedMembership struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role"`
}

func listUsers(cmd *cobra.Command, db *store.Store, asJSON bool) error {
	row, flush := table(io.Discard)
	if !asJSON {
		row, flush = table(cmd.OutOrStdout(), "ID", "EMAIL", "VERIFIED", "NAME", "CREATED", "ORGANIZATIONS")
	}
	for after := ""; ; {
		users, err := db.ListUsers(cmd.Context(), after, 0)
		if err != nil {
			return err
		}
		if len(users) == 0 {
			return flush()
		}
		for _, u := range users {
			after = u.ID
			memberships, err := db.ListMemberships(cmd.Context(), u.ID)
			if err != nil {
				return err
			}
			listed := listedUser{
				ID: u.ID, Email: u.Email, Name: u.Name, CreatedAt: u.CreatedAt,
				EmailVerified: u.Verified(), Organizations: []listedMembership{},
			}
			var names []string
			for _, p := range memberships {
				listed.Organizations = append(listed.Organizations,
					listedMembership{p.OrganizationID, p.Organization, string(p.Role)})
				names = append(names, fmt.Sprintf("%s (%s)", p.OrganizationID, p.Role))
			}
			if asJSON {
				if err := printRecord(cmd, listed); err != nil {
					return err
				}
				continue
			}
			row(u.ID, u.Email, u.Verified(), u.Name, u.CreatedAt.Format(time.RFC3339), strings.Join(names, ", "))
		}
	}
}

func newUsersVerify() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify ADDRESS",
		Short: "Mark a user's email address as verified",
		Long: `Marks the email address of a user who signed up as verified, as the mailed token does.
Use it when that mail does not arrive: a user can mail invitations only from a verified
address.`,
		Example: `  millrace users verify ann@shop.example`,
		Args:    cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, _ config.Settings, db *store.Store) error {
			u, err := userOf(cmd.Context(), db, args[0])
			if err == nil {
				err = db.SetVerified(cmd.Context(), operator(), u.ID, time.Now().UTC())
			}
			if err != nil {
				return err
			}
			if asJSON {
				return printRecord(cmd, map[string]any{"id": u.ID, "email": u.Email, "emailVerified": true})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s (%s) is verified\n", u.ID, u.Email)
			return err
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newUsersResetPassword() *cobra.Command {
	var set, asJSON bool
	cmd := &cobra.Command{
		Use:   "reset-password ADDRESS",
		Short: "Issue a password reset token, or set a new password",
		Long: `Prints a token that is valid for an hour. The user sets a new password with it through the
operation password/reset. Use it in an installation that sends no mail.

With --set it generates and sets a password, prints it, and ends all sessions of the
user.`,
		Example: `  millrace users reset-password ann@shop.example
  millrace users reset-password ann@shop.example --set`,
		Args: cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, s config.Settings, db *store.Store) error {
			u, err := userOf(cmd.Context(), db, args[0])
			if err != nil {
				return err
			}
			if set {
				return setPassword(cmd, db, u, asJSON)
			}
			return permitPassword(cmd, db, u, s.Query.BaseURL(), asJSON)
		}),
	}
	cmd.Flags().BoolVar(&set, "set", false, "generate a password and set it")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func setPassword(cmd *cobra.Command, db *store.Store, u *org.User, asJSON bool) error {
	password := rand.Text()
	hash, err := org.HashPassword(password)
	if err != nil {
		return err
	}
	if err := db.SetPassword(cmd.Context(), operator(), u.ID, "", hash, time.Now().UTC(), nil); err != nil {
		return err
	}
	if asJSON {
		return printRecord(cmd, map[string]string{"id": u.ID, "email": u.Email, "password": password})
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "set a new password for %s (%s); it is shown only once:\n", u.ID, u.Email)
	_, err = fmt.Fprintln(cmd.OutOrStdout(), password)
	return err
}

func permitPassword(cmd *cobra.Command, db *store.Store, u *org.User, queryURL string, asJSON bool) error {
	r, text := session.NewReset(u.ID, time.Now().UTC())
	if err := db.CreateReset(cmd.Context(), operator(), r); err != nil {
		return err
	}
	if asJSON {
		return printRecord(cmd, map[string]any{"id": u.ID, "email": u.Email, "token": text, "expiresAt": r.ExpiresAt})
	}
	fmt.Fprintf(cmd.ErrOrStderr(),
		"until %s, %s can set a new password with POST %s/rpc/password/reset and this token, shown only once:\n",
		r.ExpiresAt.Format(time.RFC3339), u.Email, queryURL)
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}
