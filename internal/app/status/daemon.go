package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
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

// daemons asks them side by side: one that does not respond takes all the time there is.
func (r *reader) daemons(ctx context.Context) error {
	found, errs := make([]*Daemon, len(r.Admins)), make([]error, len(r.Admins))
	var all sync.WaitGroup
	for i, addr := range r.Admins {
		all.Go(func() {
			d, err := daemon(ctx, addr)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", addr, err)
				return
			}
			found[i] = &d
		})
	}
	all.Wait()
	for _, d := range found {
		if d == nil {
			continue
		}
		if !d.Ready {
			r.attend("%s at %s is not ready: %s", d.Name, d.Addr, d.Detail)
		}
		r.tell(func(s *Status) { s.Daemons = append(s.Daemons, *d) })
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

// direct asks a daemon itself: a proxy that the environment names does not know addresses of pods.
var direct = &http.Client{Transport: &http.Transport{}}

func get(ctx context.Context, url string) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	res, err := direct.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	return res.StatusCode, string(body), err
}
