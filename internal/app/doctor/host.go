package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/millrace/millrace/internal/platform/config"
)

// lookAtFiles finds out whether the files that settings name can be used.
func lookAtFiles(_ context.Context, o *Options, n *notebook) {
	files := 0
	for _, f := range config.Fields() {
		if !strings.HasSuffix(f.Key, "_file") {
			continue
		}
		for path := range strings.SplitSeq(f.Value(&o.Settings), ",") {
			if path == "" {
				continue
			}
			files++
			level, problem := fileProblem(f.Key, path, o.Now())
			if level != OK {
				n.findings = append(n.findings, Finding{
					"files", level, f.Key + ": " + problem,
					"the daemon that reads the file does not start, or cannot connect", "correct the path, the file or its " +
						"permissions",
				})
			}
		}
	}
	n.well("files", fmt.Sprintf("all %d files that the settings name can be read", files))
}

// minFree is the room below which a folder is too full for embedded servers.
const minFree = 1 << 30

// lookAtFolder is about the folder of standalone mode.
func lookAtFolder(_ context.Context, o *Options, n *notebook) {
	if !o.Embedded {
		return
	}
	dir := o.Settings.Data.Dir
	const why = "standalone mode keeps all its data there: topics, tables, accounts"
	at := dir
	for ; ; at = filepath.Dir(at) { // it is made when it is missing
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
	}
	probe, err := os.CreateTemp(at, ".doctor-*")
	if err != nil {
		n.fail("data.dir", fmt.Sprintf("%s cannot be written: %v", dir, err), why,
			"chown or chmod the folder, or name another one with data.dir")
		return
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		n.warn("data.dir", fmt.Sprintf("a file in %s cannot be removed: %v", dir, err), why,
			"check the permissions of the folder")
		return
	}
	if free, ok := freeBytes(at); ok && free < minFree {
		n.warn("data.dir", fmt.Sprintf("%s has %s free", dir, Bytes(free)), why,
			"free disk space, or name another folder with data.dir")
		return
	}
	n.ok("data.dir", dir+" can be written")
}

// lookAtListeners finds out whether the addresses are free, or are served by a
// daemon that is running already.
func lookAtListeners(ctx context.Context, o *Options, n *notebook) {
	s := &o.Settings
	for _, l := range []struct {
		key, addr, path string
		roles           []Role
	}{
		{"ingest.listen", s.Ingest.Listen, "/health", []Role{Edge}},
		{"link.listen", s.Link.Listen, "/health", []Role{Edge}},
		{"query.listen", s.Query.Listen, "/health", []Role{Query}},
		{"admin.listen", s.Admin.Listen, "/livez", Roles},
	} {
		if l.addr == "" || !o.has(l.roles...) {
			continue
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.addr)
		switch {
		case err == nil:
			listener.Close()
		case errors.Is(err, syscall.EADDRINUSE) && serves(ctx, l.addr, l.path):
			n.ok("listen", l.key+": "+l.addr+" is served by a running daemon")
		case errors.Is(err, syscall.EADDRINUSE):
			n.fail("listen", fmt.Sprintf("%s: another program listens on %s", l.key, l.addr), "the daemon does not start",
				fmt.Sprintf("find the program with \"ss -ltnp 'sport = :%s'\", or choose another address", port(l.addr)))
		default:
			n.fail("listen", fmt.Sprintf("%s: cannot listen on %s: %s", l.key, l.addr, reason(err)), "the daemon does not start",
				"choose an address of this machine; ports below 1024 require the capability CAP_NET_BIND_SERVICE")
		}
	}
	n.well("listen", "the addresses are free, or served by daemons")
}

func port(addr string) string {
	_, p, _ := net.SplitHostPort(addr)
	return p
}

// serves reports whether a daemon answers on an address.
func serves(ctx context.Context, addr, path string) bool {
	host, p, _ := net.SplitHostPort(addr)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	status, err := get(ctx, "http://"+net.JoinHostPort(host, p)+path)
	return err == nil && status == http.StatusOK
}

func get(ctx context.Context, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	client := http.Client{
		Timeout: dialTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	res.Body.Close()
	return res.StatusCode, nil
}

// lookAtAddresses is about how callers reach the hosts: public addresses, and
// proxies in front.
func lookAtAddresses(ctx context.Context, o *Options, n *notebook) {
	s := &o.Settings
	for _, p := range []struct {
		key, url, listen string
		role             Role
	}{
		{"ingest.public_url", s.Ingest.PublicURL, s.Ingest.Listen, Edge},
		{"link.public_url", s.Link.PublicURL, s.Link.Listen, Edge},
		{"query.public_url", s.Query.PublicURL, s.Query.Listen, Query},
	} {
		switch {
		case !o.has(p.role):
		case p.url == "" && p.listen != "" && !config.IsLoopback(p.listen):
			n.fail("public_url", p.key+" is empty, and the host listens on "+p.listen,
				"the daemon does not start, because snippets, mails and cookies would name an address that callers cannot reach",
				"set "+p.key+" to the URL that callers use, such as https://events.example.com")
		case strings.HasPrefix(p.url, "http:") && !loopbackURL(p.url):
			n.warn("public_url", p.key+" is not encrypted: "+p.url,
				"keys and sessions travel unencrypted, and browsers block requests from https pages", "serve the host over https")
		case p.url != "":
			n.responds(ctx, p.key, p.url)
		}
	}
	n.well("public_url", "callers can use the public addresses")
	n.proxies(s)
}

func (n *notebook) responds(ctx context.Context, key, url string) {
	status, err := get(ctx, url+"/health")
	switch {
	case err != nil:
		n.warn("public_url", fmt.Sprintf("%s: %s does not respond from here: %v", key, url, err),
			"callers may not reach it either; the cause may be the DNS name, the certificate or the load balancer", "run curl "+
				"-v "+url+"/health, also from outside")
	case status != http.StatusOK:
		n.warn("public_url", fmt.Sprintf("%s: %s/health returns %d", key, url, status),
			"another server responds at this address, or no host behind the load balancer is ready",
			"check the targets of the load balancer")
	}
}

func (n *notebook) proxies(s *config.Settings) {
	if len(s.Proxy.Trusted) == 0 &&
		(strings.HasPrefix(s.Ingest.PublicURL, "https:") || strings.HasPrefix(s.Query.PublicURL, "https:")) {
		n.warn("proxy.trusted", "public addresses are https, so requests come through a proxy, and proxy.trusted is empty",
			"all requests appear to come from the proxy: callers share one limit, and locations are those of the proxy",
			"set proxy.trusted to the addresses of the proxy")
	}
	n.well("proxy.trusted", "the trusted proxies match the public addresses")
}

func loopbackURL(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	return config.IsLoopback(rest) || config.IsLoopback(rest+":80")
}
