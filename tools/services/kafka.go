package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"text/template"

	"github.com/millrace/millrace/internal/testkit"
)

var (
	//go:embed kafka/pom.xml
	kafkaPOM []byte
	//go:embed kafka/log4j2.properties
	kafkaLog4j []byte
	//go:embed kafka/server.properties.tmpl
	kafkaProperties string

	propertiesTemplate = template.Must(template.New("server.properties").Parse(kafkaProperties))
)

// kafkaJars is the folder of the jars that pom.xml names. Its name carries the
// file's digest, so that another version is another folder.
func kafkaJars() (string, error) {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".cache", "kafka", fmt.Sprintf("%x", sha256.Sum256(kafkaPOM))[:12]), nil
}

// prepareKafka fetches the jars with Maven unless they are there already. Two
// processes that come at the same time wait for one another.
func prepareKafka(ctx context.Context) error {
	err := install(
		ctx,
		tool{binary: "java", pkg: "default-jre-headless"},
		tool{binary: "mvn", pkg: "maven"},
		tool{binary: "kcat", pkg: "kcat"},
	)
	if err != nil {
		return err
	}
	jars, err := kafkaJars()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(jars), 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(filepath.Dir(jars), "lock"), true)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(jars); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(jars), "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), kafkaPOM, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=libs")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fetching Kafka with Maven: %w: %s", err, tail(out))
	}
	return os.Rename(filepath.Join(work, "libs"), jars)
}

// account is somebody whom the Kafka with an authorizer knows.
type account struct{ Name, Password string }

// users may sign in there with every mechanism. The first one may do everything,
// the others what somebody allows them. The passwords guard nothing: the server
// is on loopback, and empty.
var users = []account{{"admin", "admin-secret"}, {"alice", "alice-secret"}, {"bob", "bob-secret"}}

func buildKafka(ctx context.Context, dir string) (*server, string, error) {
	s, port, err := newKafka(ctx, dir, "kafka", nil)
	return s, fmt.Sprintf("KAFKA_BROKERS=127.0.0.1:%d", port), err
}

func buildKafkaACL(ctx context.Context, dir string) (*server, string, error) {
	s, port, err := newKafka(ctx, dir, "kafka-acl", users)
	return s, fmt.Sprintf("KAFKA_ACL_BROKERS=127.0.0.1:%d", port), err
}

// newKafka makes a broker that asks nobody who they are, or one that knows users
// and has an authorizer.
func newKafka(ctx context.Context, dir, name string, users []account) (s *server, port int, err error) {
	jars, err := kafkaJars()
	if err != nil {
		return nil, 0, err
	}
	port, err = testkit.ReservePort()
	if err != nil {
		return nil, 0, err
	}
	controller, err := testkit.ReservePort()
	if err != nil {
		return nil, 0, err
	}
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, 0, err
	}
	properties, log4j := filepath.Join(dir, "server.properties"), filepath.Join(dir, "log4j2.properties")
	f, err := os.Create(properties)
	if err != nil {
		return nil, 0, err
	}
	err = propertiesTemplate.Execute(f, struct {
		Port, ControllerPort int
		Dir, Protocol        string
		Users                []account
	}{port, controller, filepath.Join(dir, "data"), protocolFor(users), users})
	err = errors.Join(err, f.Close(), os.WriteFile(log4j, kafkaLog4j, 0o600))
	if err != nil {
		return nil, 0, err
	}

	java := []string{"-Xmx768m", "-Dlog4j2.configurationFile=" + log4j, "-cp", jars + "/*"}
	sum := sha256.Sum256([]byte(dir))
	cluster := base64.RawURLEncoding.EncodeToString(sum[:16])
	cluster = "M" + cluster[1:] // an id that begins with "-" would be read as an option
	format := []string{"kafka.tools.StorageTool", "format", "-t", cluster, "-c", properties, "--standalone"}
	for _, u := range users {
		for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			format = append(format, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, u.Name, u.Password))
		}
	}
	if out, err := exec.CommandContext(ctx, "java", slices.Concat(java, format)...).CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("formatting the log folder: %w: %s", err, tail(out))
	}
	return &server{
		name:  name,
		ready: "Kafka Server started",
		halt:  syscall.SIGTERM,
		log:   filepath.Join(dir, "kafka.log"),
		path:  "java",
		args:  slices.Concat(java, []string{"kafka.Kafka", properties}),
	}, port, nil
}

func protocolFor(users []account) string {
	if len(users) > 0 {
		return "SASL_PLAINTEXT"
	}
	return "PLAINTEXT"
}
