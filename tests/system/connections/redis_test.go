package connections

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/redis"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit/services"
)

func TestRedisIsReachedOverTLS(t *testing.T) {
	t.Parallel()
	folder, at := services.Own(t, services.KindRedisTLS).Secured(t)
	u, err := url.Parse(at[0])
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	u.User = url.User("alice")
	cfg := config.Default().Redis
	cfg.URL, cfg.TLS, cfg.Timeout = config.Secret(u.String()), proving(folder), 5*time.Second
	ping := func(cfg config.Redis) func(context.Context) error {
		return func(ctx context.Context) error {
			l, err := redis.Open(cfg)
			if err != nil {
				return err
			}
			defer l.Close()
			return l.Ping(ctx)
		}
	}
	byFile := cfg
	byFile.PasswordFile = written(t, password)
	cfg.Password = config.Secret(password)
	inURL := config.Default().Redis
	inURL.URLFile, inURL.TLS, inURL.Timeout = written(t, at[0]), proving(folder), 5*time.Second
	for name, cfg := range map[string]config.Redis{"password": cfg, "password in a file": byFile, "in the URL": inURL} {
		t.Run(name, func(t *testing.T) {
			if err := ping(cfg)(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for _, r := range rejections(t, "redis", folder, true) {
		t.Run(r.name, func(t *testing.T) {
			other := cfg
			other.TLS = r.tls
			checkRejected(t, r.says, r.another, password, ping(other))
		})
	}
	t.Run("wrong password", func(t *testing.T) {
		other := cfg
		other.Password = wrongPassword
		checkRejected(t, "redis.password: the server does not let the user of redis.url in", "", wrongPassword, ping(other))
	})
	t.Run("without verification", func(t *testing.T) {
		other := cfg
		other.URL += "?skip_verify=true"
		checkRejected(t, "redis.url: skip_verify is not offered", "", password, ping(other))
	})
}
