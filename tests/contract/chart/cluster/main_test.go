// Package cluster installs, upgrades and removes the chart with Helm's own library
// in Kubernetes' real API server, for every file of values in ci/.
//
// There are no controllers behind that server: nothing runs. A goroutine says of
// each Job that it is complete, as the job controller would, so that Helm waits for
// hooks and goes on as in production.
package cluster

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// server is how the tests reach the API server.
var server *rest.Config

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	config, stop, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the API server:", err)
		os.Exit(1)
	}
	server = config
	code := m.Run()
	stop()
	os.Exit(code)
}

// startTimeout allows for a server that has to be built.
const startTimeout = 10 * time.Minute

// start runs tools/services, which serves for as long as its input is open.
func start() (config *rest.Config, stop func(), err error) {
	root, err := rendering.Root()
	if err != nil {
		return nil, nil, err
	}
	command := []string{"go", "run", "./tools/services", "kubernetes"}
	if built := os.Getenv("MILLRACE_TEST_SERVICES"); built != "" {
		command = []string{built, "kubernetes"}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		in.Close()
		cmd.Wait()
	}
	giveUp := time.AfterFunc(startTimeout, func() { in.Close() })
	defer giveUp.Stop()
	var where string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "KUBERNETES="); ok {
			where = value
		}
		if lines.Text() == "ready" {
			config, err = reach(where)
			return config, stop, err
		}
	}
	stop()
	return nil, nil, errors.New("tools/services ended")
}

// reach reads where the server is and who its administrator is.
func reach(where string) (*rest.Config, error) {
	u, err := url.Parse(where)
	if err != nil {
		return nil, err
	}
	files := u.Query().Get("files")
	token, err := os.ReadFile(filepath.Join(files, "admin.token"))
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: "https://" + u.Host, BearerToken: string(token), QPS: -1, WarningHandler: rest.NoWarnings{},
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(files, "apiserver.crt")},
	}, nil
}

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: needs a real API server")
	}
}
