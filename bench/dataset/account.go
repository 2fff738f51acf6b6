package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/bootstrap"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/website"
)

// host is where the pages of a website are.
func host(n int) string { return fmt.Sprintf("site-%03d.example.com", n) }

// account makes the organization and its websites in the folder's metadata store,
// and the dev.env that a standalone goes on with.
func (m *Manifest) account(ctx context.Context) (err error) {
	db, err := store.Open(ctx, "sqlite:"+filepath.Join(m.dir, "millrace.db"), store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	a, made, err := bootstrap.Run(ctx, db, audit.BySystem(), config.Default().Key.Prefix, bootstrap.First{
		Organization: "Data set", Website: "The largest", Domain: host(0),
		AdminEmail: "admin@example.com", AdminName: "Admin", KeyName: "data set",
	}, nil)
	if err != nil {
		return err
	}
	if !made {
		return fmt.Errorf("%s is the data folder of something else; name an empty one", m.dir)
	}
	m.Organization, m.Websites = a.OrganizationID, []string{a.WebsiteID}
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Store) error {
		for n := 1; n < websites; n++ {
			w, err := website.New(m.Organization, fmt.Sprintf("Website %d", n), host(n), time.Now().UTC())
			if err == nil {
				err = tx.CreateWebsite(ctx, audit.BySystem(), w)
			}
			if err != nil {
				return err
			}
			m.Websites = append(m.Websites, w.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("API_KEY=%s\nWEBSITE_ID=%s\nORGANIZATION_ID=%s\nADMIN_EMAIL=%s\nADMIN_PASSWORD=%s\n",
		a.APIKey, a.WebsiteID, a.OrganizationID, a.AdminEmail, a.AdminPassword)
	return os.WriteFile(filepath.Join(m.dir, "dev.env"), []byte(text), 0o600)
}
