package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
)

// tlsKey begins the keys of the settings of encryption.
const tlsKey = "redis.tls"

// bufferSize is the memory of each of a connection's two buffers: calls and answers
// are short.
const bufferSize = 4 << 10

// options returns how to connect. What stands in files is read once here, so that a
// wrong one is told at the start, and again for each new connection.
func options(cfg config.Redis) (*redis.Options, error) {
	text, err := credential.Secret("redis.url", cfg.URL, cfg.URLFile)
	if err != nil {
		return nil, err
	}
	opts, err := redis.ParseURL(text)
	if err != nil {
		return nil, errors.New("redis.url must be a URL such as redis://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	if opts.TLSConfig != nil {
		if opts.TLSConfig.InsecureSkipVerify {
			return nil, credential.Reject("redis.url", nil,
				"skip_verify is not offered; name the server's authority in redis.tls.ca_file")
		}
		cfg.TLS.Enabled = true
	}
	if _, err := credential.Client(tlsKey, cfg.TLS, ""); err != nil {
		return nil, err
	}
	if _, _, err := account(cfg); err != nil {
		return nil, err
	}
	opts.CredentialsProviderContext = func(context.Context) (user, password string, err error) { return account(cfg) }
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := credential.Dial(ctx, tlsKey, cfg.TLS, cfg.Timeout, network, addr)
		if err != nil || !cfg.TLS.Enabled { // the library looks into a plain one
			return conn, err
		}
		return &wrapped{conn}, nil
	}
	opts.ClientName = "millrace"
	opts.MaxRetries = -1 // a request that was perhaps counted is not counted again
	opts.DialerRetries = 1
	opts.DialTimeout, opts.PoolTimeout = cfg.Timeout, cfg.Timeout
	opts.ReadTimeout, opts.WriteTimeout = cfg.Timeout, cfg.Timeout
	opts.ContextTimeoutEnabled = true
	opts.PoolSize, opts.ConnMaxIdleTime = cfg.PoolSize, cfg.IdleTime
	opts.ReadBufferSize, opts.WriteBufferSize = bufferSize, bufferSize
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return opts, nil
}

// wrapped is a connection whose rejections survive the library: of an error that it gets
// while it signs in, it returns the cause alone.
type wrapped struct{ net.Conn }

// Read wraps rejections.
func (w *wrapped) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	return n, wrap(err)
}

// Write wraps rejections.
func (w *wrapped) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	return n, wrap(err)
}

func wrap(err error) error {
	if credential.Rejected(err) {
		return fmt.Errorf("%w", err)
	}
	return err
}

// account returns who signs in, from what the settings and their files say now.
func account(cfg config.Redis) (user, password string, err error) {
	text, err := credential.Secret("redis.url", cfg.URL, cfg.URLFile)
	if err != nil {
		return "", "", err
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", "", errors.New("redis.url must be a URL")
	}
	user = u.User.Username()
	password, inURL := u.User.Password()
	if cfg.Password == "" && cfg.PasswordFile == "" {
		return user, password, nil
	}
	if inURL {
		return "", "", credential.Reject("redis.password", nil, "must not be set together with a password in redis.url")
	}
	password, err = credential.Secret("redis.password", cfg.Password, cfg.PasswordFile)
	return user, password, err
}

// explain makes a Rejection of an error by which the server says that it does not know
// us, and returns any other error as it is.
func explain(err error) error {
	response, ok := errors.AsType[redis.Error](err)
	if !ok || credential.Rejected(err) {
		return err
	}
	word, text, _ := strings.Cut(response.Error(), " ")
	switch {
	case word == "WRONGPASS":
		return credential.Reject("redis.password", err, "the server does not let the user of redis.url in with it")
	case word == "NOAUTH":
		return credential.Reject("redis.password", err, "is empty, and the server asks for one")
	// Of a command in a script servers say so by a sentence alone.
	case word == "NOPERM", strings.Contains(text, "user executing the script"), strings.Contains(text, "ACL failure"):
		return credential.Reject("redis.url", err,
			"its user may not do what limits need: CLIENT SETNAME, EVAL, EVALSHA, TIME, GETRANGE, SETRANGE, PEXPIRE, ZADD, "+
				"ZCARD, ZREM and ZREMRANGEBYSCORE, on keys that begin with millrace:")
	}
	return fmt.Errorf("the server returned: %w", err)
}
