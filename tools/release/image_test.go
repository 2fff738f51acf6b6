package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/tools/thirdparty"
)

// released is when the image of these tests is made.
var released = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// image is the one of the daemons, unpacked, and the layout that its archive has.
type image struct {
	root, layout string
	config       imageConfig
}

var (
	built     sync.Once
	daemons   image
	errImage  error
	imageTemp string
)

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(imageTemp)
	os.Exit(code)
}

// theImage builds the image of the daemons for this machine, once, and unpacks it.
// The programs have this checkout's paths in them, so that the build shares Go's
// cache with that of make build.
func theImage(t *testing.T) image {
	t.Helper()
	if testing.Short() {
		t.Skip("builds an image")
	}
	built.Do(func() { errImage = buildImage(t.Context(), testkit.Root(t)) })
	if errImage != nil {
		t.Fatal(errImage)
	}
	return daemons
}

func buildImage(ctx context.Context, root string) error {
	if _, err := testkit.Program("buildah"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "millrace-image-")
	if err != nil {
		return err
	}
	imageTemp = dir
	r := &release{
		root: root, out: filepath.Join(dir, "dist"), version: "1.2.3", revision: "0123456789abcdef", time: released,
		platforms: []string{"linux/" + runtime.GOARCH}, images: []string{"daemons"},
	}
	if r.parts, err = thirdparty.Parts(ctx, root); err != nil {
		return err
	}
	if err := r.compile(ctx, r.platforms[0], r.path(staticDir, r.platforms[0]), noLibrary); err != nil {
		return err
	}
	if err := makeImages(ctx, r); err != nil {
		return err
	}
	daemons.root, daemons.layout = filepath.Join(dir, "root"), filepath.Join(dir, "blobs")
	daemons.config, err = unpack(r.path("millrace_1.2.3_image_linux_"+runtime.GOARCH+".tar"), daemons.root)
	return err
}

func TestTheImageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	config := theImage(t).config
	if config.Config.User != "65532:65532" || config.Architecture != runtime.GOARCH || config.OS != "linux" ||
		!config.Created.Equal(released) {
		t.Errorf("user %q, %s/%s, of %s", config.Config.User, config.OS, config.Architecture, config.Created)
	}
	for label, want := range map[string]string{
		"version": "1.2.3", "revision": "0123456789abcdef", "licenses": "Apache-2.0", "title": "Millrace",
		"source": "https://github.com/millrace/millrace",
	} {
		if got := config.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("the label %s is %q, want %q", label, got, want)
		}
	}
}

// Each engine reads another file of the archive: podman and containerd index.json, Docker's own store of
// images manifest.json.
func TestEveryEngineLoadsTheImageUnderItsName(t *testing.T) {
	t.Parallel()
	layout := theImage(t).layout
	const name = "localhost/millrace:1.2.3"
	var index layoutIndex
	var saved []savedImage
	var manifest imageManifest
	for _, err := range []error{
		readJSON(filepath.Join(layout, "index.json"), &index), readJSON(filepath.Join(layout, "manifest.json"), &saved),
		readJSON(index.Manifests[0].in(layout), &manifest),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"org.opencontainers.image.ref.name", "io.containerd.image.name"} {
		if got := index.Manifests[0].Annotations[key]; got != name {
			t.Errorf("the annotation %s is %q, want %q", key, got, name)
		}
	}
	want := savedImage{Config: manifest.Config.path(), RepoTags: []string{name}}
	for _, layer := range manifest.Layers {
		want.Layers = append(want.Layers, layer.path())
	}
	if diff := cmp.Diff([]savedImage{want}, saved); diff != "" || len(want.Layers) == 0 {
		t.Error(diff)
	}
}

// What guides, compose and the chart call the images is what their archives are loaded as.
func TestEveryPlaceCallsTheImagesByTheirNames(t *testing.T) {
	t.Parallel()
	host, trial := loadedName("millrace", "1.2.3"), loadedName("millrace-standalone", "1.2.3")
	for file, want := range map[string][]string{
		"docs/guides/installing.md":        {"\n  " + host + " ingest-edge\n", " " + trial + "\n"},
		"deploy/compose/.env.example":      {"\nMILLRACE_IMAGE=" + strings.TrimSuffix(host, ":1.2.3") + "\n"},
		"deploy/helm/millrace/values.yaml": {"\n  registry: localhost\n", ": millrace\n", ": millrace-standalone\n"},
	} {
		text, err := os.ReadFile(filepath.Join(testkit.Root(t), filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !bytes.Contains(text, []byte(w)) {
				t.Errorf("%s lacks %q", file, w)
			}
		}
	}
}

func TestTheImageHoldsStaticProgramsAndPapersOnly(t *testing.T) {
	t.Parallel()
	root := theImage(t).root
	var got []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if path != root && info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s may be written by others: %s", path, info.Mode())
		}
		if !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, root))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/etc/group", "/etc/passwd", "/etc/ssl/certs/ca-certificates.crt",
		"/usr/local/bin/ingest-edge", "/usr/local/bin/millrace", "/usr/local/bin/query", "/usr/local/bin/sink",
		"/usr/share/doc/millrace/LICENSE", "/usr/share/doc/millrace/NOTICE", "/usr/share/doc/millrace/THIRD_PARTY_LICENSES",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it holds %q, want %q", got, want)
	}
	for _, path := range want[3:7] {
		checkStatic(t, filepath.Join(root, path))
	}
}

// checkStatic fails unless a program runs without any other file: no loader, no
// libraries, and the time zones inside, which the hosts compute days by.
func checkStatic(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s wants a loader", path)
		}
	}
	if filepath.Base(path) == "sink" {
		return
	}
	if program, err := os.ReadFile(path); err != nil || !bytes.Contains(program, []byte("Pacific/Chatham")) {
		t.Errorf("%s does not bring the time zones: %v", path, err)
	}
}

// command is a program of the image as its user, for whom the image's root is all
// there is. As root it becomes that user, else it plays it in a namespace.
func (i image) command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	const id = 65532
	cmd := exec.CommandContext(ctx, "/usr/local/bin/"+name, args...)
	cmd.Dir, cmd.Env = "/", slices.Concat(env, i.config.Config.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: id, Gid: id}
		return cmd
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getgid(), Size: 1}}
	return cmd
}

// backends are addresses that nobody answers at.
var backends = []string{
	"MILLRACE_KAFKA_BROKERS=127.0.0.1:1", "MILLRACE_CLICKHOUSE_ADDR=127.0.0.1:1",
	"MILLRACE_STORE_URL=postgres://millrace@127.0.0.1:1/millrace",
}

func TestTheImagesProgramsAnswer(t *testing.T) {
	t.Parallel()
	i := theImage(t)
	for _, tt := range []struct {
		program string
		args    []string
		want    string
	}{
		{"ingest-edge", []string{"--config.check"}, "ok\n"},
		{"sink", []string{"--config.check"}, "ok\n"},
		{"query", []string{"--config.check"}, "ok\n"},
		{"millrace", []string{"version"}, fmt.Sprintf("millrace v1.2.3 (%s, linux/%s)\n", runtime.Version(), runtime.GOARCH)},
	} {
		out, err := i.command(t.Context(), backends, tt.program, tt.args...).CombinedOutput()
		if err != nil || string(out) != tt.want {
			t.Errorf("%s %q says %q, %v, want %q", tt.program, tt.args, out, err, tt.want)
		}
	}
}

// own is the image with a root of its own, for a test that writes into it: the
// others look at what the shared one holds. Its files are links to those.
func (i image) own(t *testing.T) image {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	err := filepath.WalkDir(i.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(root, strings.TrimPrefix(path, i.root))
		if d.IsDir() {
			return os.Mkdir(to, 0o755)
		}
		return os.Link(path, to)
	})
	if err != nil {
		t.Fatal(err)
	}
	i.root = root
	return i
}

func TestStandaloneInTheImageSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	i := theImage(t).own(t)
	data := filepath.Join(i.root, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(data, 65532, 65532); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"MILLRACE_DATA_DIR=/data"}
	// What runs on this machine already is not what it lacks.
	for _, listener := range []string{"EMBEDDED_KAFKA", "QUERY", "INGEST", "LINK", "ADMIN"} {
		env = append(env, "MILLRACE_"+listener+"_LISTEN=127.0.0.1:0")
	}
	out, err := i.command(t.Context(), env, "millrace", "standalone").CombinedOutput()
	if err == nil || !strings.Contains(string(out),
		"this build contains no ClickHouse; set MILLRACE_CLICKHOUSE_ADDR to a server of your own") {
		t.Errorf("it says %q, %v", out, err)
	}
}

// The sink waits for what is behind it, so it runs where nothing is: it lives, is not
// ready, and ends when it is told to.
func TestADaemonRunsInTheImage(t *testing.T) {
	t.Parallel()
	i := theImage(t)
	admin := testkit.FreeAddr(t)
	cmd := i.command(t.Context(), append([]string{"MILLRACE_ADMIN_LISTEN=" + admin}, backends...), "sink")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err := testkit.WaitFor(20*time.Second, func() error {
		return expectStatus(t.Context(), "http://"+admin+"/livez", http.StatusOK)
	})
	if err == nil {
		err = expectStatus(t.Context(), "http://"+admin+"/readyz", http.StatusServiceUnavailable)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if ended := cmd.Wait(); err != nil || ended != nil {
		t.Errorf("%v; it ended with %v after\n%s", err, ended, log.String())
	}
}

func expectStatus(ctx context.Context, url string, want int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != want {
		return fmt.Errorf("%s answers %s", url, res.Status)
	}
	return nil
}
