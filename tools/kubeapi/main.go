// Command kubeapi is Kubernetes' own API server over an etcd of its own, and
// nothing else: no scheduler, no controllers, no nodes. Tests install the chart
// into it, so that what Helm sends is judged by what judges it in production:
// defaults, validation, immutable fields, custom resources, roles, pod security.
//
//	kubeapi -dir DIR -port PORT -etcd-port PORT -etcd-peer-port PORT
//
// It listens on loopback, keeps everything in DIR, says "kubeapi ready" when it
// serves, and takes etcd along when it ends. DIR/admin.token may do everything;
// DIR/apiserver.crt is what its certificate is verified against.
//
// It is a module of its own because the API server brings more dependencies than
// all of Millrace, and nothing of Millrace may depend on them. go.mod replaces the
// modules that live in the Kubernetes repository by their published versions.
package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

type server struct {
	dir                  string
	port, etcd, etcdPeer int
}

func main() {
	var s server
	flag.StringVar(&s.dir, "dir", "", "folder of its files")
	flag.IntVar(&s.port, "port", 0, "port of the API server")
	flag.IntVar(&s.etcd, "etcd-port", 0, "port of etcd")
	flag.IntVar(&s.etcdPeer, "etcd-peer-port", 0, "port of etcd for its peers, of which there are none")
	flag.Parse()
	if err := s.prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "kubeapi:", err)
		os.Exit(1)
	}
	go s.announce()
	command := app.NewAPIServerCommand()
	command.SetArgs(s.args())
	os.Exit(cli.Run(command))
}

// prepare starts etcd and makes the administrator's token and the key that signs
// the tokens of accounts.
func (s *server) prepare() error {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", s.etcd), fmt.Sprintf("http://127.0.0.1:%d", s.etcdPeer)
	etcd := exec.Command("etcd", "--name", "one", "--data-dir", filepath.Join(s.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "one="+peer,
		"--log-level", "error")
	etcd.Stdout, etcd.Stderr = os.Stdout, os.Stderr
	etcd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := etcd.Start(); err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	token := rand.Text()
	for name, content := range map[string][]byte{
		"admin.token": []byte(token),
		"tokens.csv":  []byte(token + ",admin,admin,system:masters\n"),
		"sa.key":      pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) args() []string {
	key := filepath.Join(s.dir, "sa.key")
	return []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", s.etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", s.port),
		"--cert-dir=" + s.dir, "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/16",
		"--token-auth-file=" + filepath.Join(s.dir, "tokens.csv"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
	}
}

// announce says when the server serves, roles included.
func (s *server) announce() {
	// The certificate is the server's own, made while it starts.
	//nolint:gosec // one's own, on loopback
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for ; ; time.Sleep(100 * time.Millisecond) {
		resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/readyz", s.port))
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			fmt.Println("kubeapi ready")
			return
		}
	}
}
