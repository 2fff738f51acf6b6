package connections

import (
	"context"
	"net/url"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit/services"
)

func TestPostgreSQLIsReachedOverTLS(t *testing.T) {
	t.Parallel()
	folder, at := services.Own(t, services.KindPostgresTLS).Secured(t)
	u, err := url.Parse(at[0])
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	u.User = url.User("postgres")
	cfg := config.Default().Store
	cfg.URL, cfg.TLS = config.Secret(u.String()), trusting(folder)
	connect := func(cfg config.Store) func(context.Context) error {
		return func(ctx context.Context) error {
			db, err := store.Connect(ctx, cfg)
			if err != nil {
				return err
			}
			return db.Close()
		}
	}
	byFile := cfg
	byFile.PasswordFile = written(t, password)
	cfg.Password = config.Secret(password)
	inURL := config.Default().Store
	inURL.URLFile = written(t, at[0]+"?sslmode=verify-full&sslrootcert="+folder.CA())
	for name, cfg := range map[string]config.Store{
		"password": cfg, "password in a file": byFile, "as the URL says": inURL,
	} {
		t.Run(name, func(t *testing.T) {
			if err := connect(cfg)(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}

	t.Run("a client certificate, and a password that is replaced", func(t *testing.T) {
		db, err := store.Connect(t.Context(), byFile)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		conn, err := pgx.Connect(t.Context(), at[0]+"?sslmode=verify-full&sslrootcert="+folder.CA())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), "CREATE ROLE client LOGIN"); err != nil {
			t.Fatal(err)
		}
		byCertificate := cfg
		u.User = url.User("client")
		byCertificate.URL, byCertificate.Password, byCertificate.TLS = config.Secret(u.String()), "", proving(folder)
		if err := connect(byCertificate)(t.Context()); err != nil {
			t.Error(err)
		}
		byCertificate.TLS = trusting(folder)
		checkRejected(t, "store.url: the server does not let its user in from here", "store.tls.cert_file", "",
			connect(byCertificate))

		// From here on only the new password is good, and old connections are gone.
		for _, sql := range []string{
			"ALTER ROLE postgres PASSWORD 'another-secret'",
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() AND backend_type = 'client " +
				"backend'",
		} {
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(byFile.PasswordFile, []byte("another-secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := db.Ping(t.Context()); err != nil {
			t.Errorf("after the password was replaced: %v", err)
		}
		checkRejected(t, "store.password: the server does not let the user of store.url in", "", password, connect(cfg))
	})
	for _, r := range rejections(t, "store", folder, false) {
		t.Run(r.name, func(t *testing.T) {
			other := cfg
			other.TLS = r.tls
			checkRejected(t, r.says, r.another, password, connect(other))
		})
	}
}
