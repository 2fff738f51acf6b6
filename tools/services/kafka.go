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

	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/certs"
	"github.com/millrace/millrace/internal/testkit/runfolder"
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
	cache, err := config.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "kafka", fmt.Sprintf("%x", sha256.Sum256(kafkaPOM))[:12]), nil
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
	unlock, err := runfolder.Lock(filepath.Join(filepath.Dir(jars), "lock"), true)
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

// shortLived are options of a Java that lives for minutes: most of what it would
// spend on compiling its code twice, and on collecting garbage in parallel, is saved.
var shortLived = []string{"-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

// account is somebody whom the Kafka with an authorizer knows.
type account struct{ Name, Password string }

// users may sign in there with every mechanism. The first one may do everything,
// the others what somebody allows them. The passwords guard nothing: the server
// is on loopback, and empty.
var users = []account{{"admin", "admin-secret"}, {"alice", "alice-secret"}, {"bob", "bob-secret"}}

func buildKafka(ctx context.Context, dir string) (*server, string, error) {
	s, port, err := newKafka(ctx, dir, "kafka", broker{Protocol: "PLAINTEXT"})
	return s, fmt.Sprintf("KAFKA_BROKERS=127.0.0.1:%d", port), err
}

func buildKafkaACL(ctx context.Context, dir string) (*server, string, error) {
	s, port, err := newKafka(ctx, dir, "kafka-acl",
		broker{Protocol: "SASL_PLAINTEXT", Users: users, Signed: "sasl_plaintext", Authorizer: true})
	return s, fmt.Sprintf("KAFKA_ACL_BROKERS=127.0.0.1:%d", port), err
}

// broker is what the template of the broker's settings depends on.
type broker struct {
	Port, ControllerPort int
	Dir                  string
	Protocol             string     // of the listener that is always there
	Secured              []listener // more of them
	Certs                certs.Folder
	Users                []account
	Signed               string // name of the listener at which they sign in, in lower case
	Authorizer           bool
}

type listener struct {
	Name, Protocol string
	Port           int
}

// newKafka makes a broker: one that asks nobody who they are, one that knows users
// and has an authorizer, or one with certificates.
func newKafka(ctx context.Context, dir, name string, b broker) (s *server, port int, err error) {
	jars, err := kafkaJars()
	if err != nil {
		return nil, 0, err
	}
	b.Port, err = testkit.ReservePort()
	if err != nil {
		return nil, 0, err
	}
	b.ControllerPort, err = testkit.ReservePort()
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
	b.Dir = filepath.Join(dir, "data")
	err = propertiesTemplate.Execute(f, b)
	err = errors.Join(err, f.Close(), os.WriteFile(log4j, kafkaLog4j, 0o600))
	if err != nil {
		return nil, 0, err
	}

	java := append(slices.Clone(shortLived), "-Dlog4j2.configurationFile="+log4j, "-cp", jars+"/*")
	sum := sha256.Sum256([]byte(dir))
	cluster := base64.RawURLEncoding.EncodeToString(sum[:16])
	cluster = "M" + cluster[1:] // an id that begins with "-" would be read as an option
	format := []string{"kafka.tools.StorageTool", "format", "-t", cluster, "-c", properties, "--standalone"}
	for _, u := range b.Users {
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
	}, b.Port, nil
}
