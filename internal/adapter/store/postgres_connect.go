package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
)

// tlsKey begins the keys of the settings of encryption.
const tlsKey = "store.tls"

// postgresConfig returns how to connect, from what the settings and their files say
// now.
func postgresConfig(settings config.Store) (*pgx.ConnConfig, error) {
	text, err := credential.Secret("store.url", settings.URL, settings.URLFile)
	if err != nil {
		return nil, err
	}
	cfg, err := pgx.ParseConfig(text)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, credential.Reject("store.url", nil,
			fmt.Sprintf("the file %s that it names cannot be read: %v", file.Path, file.Err))
	}
	u, notURL := url.Parse(text)
	if err != nil || notURL != nil {
		// The parser's text may quote a part of the password.
		return nil,
			errors.New("the PostgreSQL URL cannot be read; percent-encode special characters in user name and password")
	}
	if err := setPassword(cfg, settings, u); err != nil {
		return nil, err
	}
	return cfg, encrypt(cfg, settings, u)
}

func setPassword(cfg *pgx.ConnConfig, settings config.Store, u *url.URL) error {
	if settings.Password == "" && settings.PasswordFile == "" {
		return nil
	}
	if _, inURL := u.User.Password(); inURL || u.Query().Has("password") {
		return credential.Reject("store.password", nil, "must not be set together with a password in store.url")
	}
	var err error
	cfg.Password, err = credential.Secret("store.password", settings.Password, settings.PasswordFile)
	return err
}

// encrypt demands TLS of every host of the URL, with its name verified. Without the
// setting it is as the URL says.
func encrypt(cfg *pgx.ConnConfig, settings config.Store, u *url.URL) error {
	if !settings.TLS.Enabled {
		return nil
	}
	if mode := u.Query().Get("sslmode"); mode != "" && mode != "verify-full" {
		return credential.Reject(tlsKey+".enabled", nil,
			"store.url says sslmode="+mode+", which is less; leave one of them out")
	}
	var err error
	if cfg.TLSConfig, err = credential.Client(tlsKey, settings.TLS, cfg.Host); err != nil {
		return err
	}
	var others []*pgconn.FallbackConfig
	seen := map[string]bool{address(cfg.Host, cfg.Port): true}
	for _, f := range cfg.Fallbacks { // of the same host too, once encrypted and once not
		if seen[address(f.Host, f.Port)] {
			continue
		}
		seen[address(f.Host, f.Port)] = true
		other := *f
		if other.TLSConfig, err = credential.Client(tlsKey, settings.TLS, f.Host); err != nil {
			return err
		}
		others = append(others, &other)
	}
	cfg.Fallbacks = others
	return nil
}

func address(host string, port uint16) string { return fmt.Sprintf("%s:%d", host, port) }

// renewed has each new connection made with what the files say by then.
func renewed(settings config.Store) stdlib.OptionOpenDB {
	return stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
		now, err := postgresConfig(settings)
		if err != nil {
			return err
		}
		c.Host, c.Port, c.User, c.Password, c.Database = now.Host, now.Port, now.User, now.Password, now.Database
		c.TLSConfig, c.Fallbacks = now.TLSConfig, now.Fallbacks
		return nil
	})
}

// explain makes a Rejection of an error by which PostgreSQL and the settings say that
// they do not fit, and returns any other error as it is.
func explain(settings config.Store, err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return explainResponse(err, e.Code)
	}
	told := credential.Explain(tlsKey, settings.TLS, err)
	if credential.Rejected(told) && !credential.Rejected(err) && !settings.TLS.Enabled {
		return credential.Reject("store.url", err, "its sslmode and certificates do not fit the server")
	}
	return told
}

func explainResponse(err error, code string) error {
	switch code {
	case "28P01":
		return credential.Reject("store.password", err,
			"the server does not let the user of store.url in with it, or with the password in the URL")
	case "28000":
		return credential.Reject("store.url", err, "the server does not let its user in from here; it may ask for TLS "+
			"(store.tls.enabled) or for a client certificate (store.tls.cert_file)")
	case "3D000":
		return credential.Reject("store.url", err, "there is no such database")
	}
	return err
}
