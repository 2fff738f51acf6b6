package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/platform/config"
)

// healthWait is how long a daemon may take to say how it is.
const healthWait = 2 * time.Second

func newHealth() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Check whether the daemon on this machine is ready",
		Long: `Requests /readyz of the daemon at --admin.listen on this machine. It exits with 0 when
the daemon is ready, and otherwise with 1 and the reason. It serves as the health check
of containers, whose images contain no other HTTP client.`,
		Example: `  millrace health
  millrace health --admin.listen 127.0.0.1:9465`,
		Args: cobra.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, _ []string, s config.Settings) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), healthWait)
			defer cancel()
			return askReady(ctx, s.Admin.Listen)
		}),
	}
}

// askReady returns an error unless the daemon whose admin listener is at addr is
// ready.
func askReady(ctx context.Context, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("reading admin.listen: %w", err)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost" // it listens on every address, this one too
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("requesting /readyz of %s: %w", addr, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("requesting /readyz of %s: %w", addr, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1024))
	if err != nil {
		return fmt.Errorf("requesting /readyz of %s: %w", addr, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", strings.TrimSpace(string(text)))
	}
	return nil
}
