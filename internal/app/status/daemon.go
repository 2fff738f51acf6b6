package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// Daemon is what a daemon's private listener tells.
type Daemon struct {
	Addr    string `json:"addr"`
	Name    string `json:"component"`
	Version string `json:"version"`
	Ready   bool   `json:"ready"`
	// Detail is what it says about being ready.
	Detail string `json:"detail"`
}

func (r *reader) daemons(ctx context.Context) error {
	var errs []error
	for _, addr := range r.Admins {
		d, err := daemon(ctx, addr)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", addr, err))
			continue
		}
		if !d.Ready {
			r.attend("%s at %s is not ready: %s", d.Name, addr, d.Detail)
		}
		r.tell(func(s *Status) { s.Daemons = append(s.Daemons, d) })
	}
	return errors.Join(errs...)
}

var build = regexp.MustCompile(`(?m)^millrace_build_info\{([^}]*)\}`)

func daemon(ctx context.Context, addr string) (Daemon, error) {
	d := Daemon{Addr: addr}
	status, text, err := get(ctx, "http://"+addr+"/readyz")
	if err != nil {
		return d, err
	}
	d.Ready, d.Detail = status == http.StatusOK, strings.Join(strings.Split(strings.TrimSpace(text), "\n"), "; ")
	_, text, err = get(ctx, "http://"+addr+"/metrics")
	if err != nil {
		return d, err
	}
	if found := build.FindStringSubmatch(text); found != nil {
		d.Name, d.Version = labelOf(found[1], "component"), labelOf(found[1], "version")
	}
	return d, nil
}

func labelOf(labels, name string) string {
	_, rest, _ := strings.Cut(labels, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// most is more than a daemon's metrics take.
const most = 16 << 20

func get(ctx context.Context, url string) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	return res.StatusCode, string(body), err
}
