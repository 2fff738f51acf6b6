package httpkit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A client under test sends a file to a URL and returns the status it saw.
type client func(ctx context.Context, url, file, encoding string) (string, error)

const nodeClient = `
const [url, file, encoding, expect] = process.argv.slice(2);
const body = require('fs').readFileSync(file);
const headers = {'Content-Type': 'application/json', 'Content-Length': body.length};
if (encoding) headers['Content-Encoding'] = encoding;
if (expect) headers['Expect'] = '100-continue';
const req = require('http').request(url, {method: 'POST', headers}, res => {
  res.resume();
  res.on('end', () => { console.log(res.statusCode); process.exit(0); });
});
req.on('error', e => { console.log(e.code); process.exit(0); });
if (expect) req.on('continue', () => req.end(body)); else req.end(body);
`

func clients(t *testing.T) map[string]client {
	t.Helper()
	script := filepath.Join(t.TempDir(), "client.js")
	if err := os.WriteFile(script, []byte(nodeClient), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, name string, args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	curl := func(extra ...string) client {
		return func(ctx context.Context, url, file, encoding string) (string, error) {
			args := append([]string{"-s", "-o", "/dev/null", "-w", "%{http_code}", "--data-binary", "@" + file}, extra...)
			if encoding != "" {
				args = append(args, "-H", "Content-Encoding: "+encoding)
			}
			return run(ctx, "curl", append(args, url)...)
		}
	}
	viaGo := func(chunked, expect bool) client {
		return func(ctx context.Context, url, file, encoding string) (string, error) {
			body, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			var r io.Reader = bytes.NewReader(body)
			if chunked {
				r = io.MultiReader(r)
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, r)
			if err != nil {
				return "", err
			}
			if encoding != "" {
				req.Header.Set("Content-Encoding", encoding)
			}
			tr := &http.Transport{}
			if expect {
				req.Header.Set("Expect", "100-continue")
				tr.ExpectContinueTimeout = 10 * time.Second
			}
			defer tr.CloseIdleConnections()
			resp, err := (&http.Client{Transport: tr}).Do(req)
			if err != nil {
				return err.Error(), nil
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return strconv.Itoa(resp.StatusCode), err
		}
	}
	node := func(expect string) client {
		return func(ctx context.Context, url, file, encoding string) (string, error) {
			return run(ctx, "node", script, url, file, encoding, expect)
		}
	}
	return map[string]client{
		"Go": viaGo(false, false), "Go, chunked": viaGo(true, false), "Go, expecting 100": viaGo(false, true),
		"curl": curl("-H", "Expect:"), "curl, chunked": curl("-H", "Expect:", "-H", "Transfer-Encoding: chunked"),
		"curl, expecting 100": curl("-H", "Expect: 100-continue"),
		"Node":                node(""), "Node, expecting 100": node("yes"),
	}
}

func TestEveryClientSeesThe413OfABodyThatIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("this test plays real clients: %v", err)
		}
	}
	addr := serve(t, newApp(t, Config{}))
	dir := t.TempDir()
	noise := make([]byte, 20<<20) // compresses badly, so that both forms are too large
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		noise[i] = byte(x)
	}
	type sent struct{ name, file, encoding, want string }
	var bodies []sent
	for _, size := range []int{2 << 20, 2<<20 + 1, 3 << 20, 20 << 20} {
		want := "413"
		if size == 2<<20 {
			want = "200"
		}
		for _, encoding := range []string{"", "gzip"} {
			b := sent{fmt.Sprintf("%d %s", size, encoding), filepath.Join(dir, fmt.Sprint(size, encoding)), encoding, want}
			content := noise[:size]
			if encoding != "" {
				content = compress(t, encoding, content)
				if size == 2<<20 {
					continue // what does not shrink is larger than the limit
				}
			}
			if err := os.WriteFile(b.file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, b)
		}
	}
	zeros := sent{"20971520 gzip of zeros", filepath.Join(dir, "zeros"), "gzip", "413"}
	if err := os.WriteFile(zeros.file, compress(t, "gzip", make([]byte, 20<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	bodies = append(bodies, zeros)

	for name, send := range clients(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, b := range bodies {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				got, err := send(ctx, "http://"+addr+"/echo", b.file, b.encoding)
				cancel()
				if err != nil || got != b.want {
					t.Errorf("%s bytes = %s, %v; want %s", b.name, got, err, b.want)
				}
			}
		})
	}
}
