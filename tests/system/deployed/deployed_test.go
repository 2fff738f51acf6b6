package deployed

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/adapter/clickhouse/clickhousetest"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
	"github.com/millrace/millrace/internal/testkit/services"
	"github.com/millrace/millrace/tests/harness"
)

func TestMain(m *testing.M) { harness.MainBeside(m, 2) }

func TestWhatTheChartRendersTakesAnEventAndAnswersForIt(t *testing.T) {
	t.Parallel()
	leaveOutWhenShort(t)
	for _, values := range []string{"production", "README"} { // the latter is what the chart's README tells to begin with
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			manifests := rendering(t, values)
			deploy(t, manifests, newCluster(t, services.Own(t, services.KindKubernetes)), plain(t))
		})
	}
}

func leaveOutWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: runs programs against real servers")
	}
}

// deploy runs what the chart renders, sends an event, and waits until it is counted. It
// returns the settings of the daemons.
func deploy(
	t *testing.T, manifests func() []object, kube *cluster, here machine,
) (daemons map[string]map[string]string) {
	t.Helper()
	objects := manifests()
	kube.apply(t, objects)
	for _, job := range jobs(objects) {
		run(t, kube, job, job.settings(t, here))
	}
	ingest, query := testkit.FreeAddr(t), testkit.FreeAddr(t)
	here.settings["INGEST_LISTEN"], here.settings["QUERY_LISTEN"] = ingest, query
	daemons = map[string]map[string]string{}
	var processes []*harness.Process
	for _, o := range ofKind(objects, "Deployment", "StatefulSet") {
		program := filepath.Base(o.Spec.Template.Spec.Containers[0].Command[0])
		settings := o.settings(t, here)
		delete(settings, "ADMIN_LISTEN") // each process has one of its own
		p := harness.NewProcess(t, program, nil, settings)
		p.Launch(t)
		daemons[program], processes = settings, append(processes, p)
	}
	if started := slices.Sorted(maps.Keys(daemons)); !slices.Equal(started, []string{"ingest-edge", "query", "sink"}) ||
		len(processes) != len(started) {
		t.Fatalf("the manifests start %v", started)
	}
	for _, p := range processes {
		p.WaitReady(t)
	}
	account := firstAccount(t, kube)
	send(t, "http://"+ingest+"/track?website_id="+account["WEBSITE_ID"], account["API_KEY"],
		`{"name":"signup","eventId":"first-1","properties":{"plan":"pro"}}`)
	testkit.EventuallyEvery(t, time.Second, 2*time.Minute, func() error {
		a, err := harness.Post(t.Context(), "http://"+query+"/v1/query?website_id="+account["WEBSITE_ID"], account["API_KEY"],
			[]byte(`{"parameters":["custom_events"],"preset":"last_7d"}`))
		if err == nil && (a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"signup"`)) {
			err = fmt.Errorf("the event is not in %d %s", a.Status, a.Body)
		}
		return err
	})
	return daemons
}

// plain returns the settings of servers that encrypt nothing.
func plain(t *testing.T) machine {
	t.Helper()
	here := machine{settings: reached(services.Kafka(t), clickhousetest.Database(t))}
	here.settings["STORE_URL"], here.settings["REDIS_URL"] = services.Postgres(t), services.Redis(t)
	return here
}

// reached returns the settings of a broker and of one ClickHouse without users.
func reached(kafka config.Kafka, clickhouse config.ClickHouse) map[string]string {
	return map[string]string{
		"KAFKA_BROKERS": kafka.Brokers[0], "KAFKA_TOPIC_PREFIX": kafka.TopicPrefix, "SINK_GROUP": kafka.TopicPrefix + "sink",
		"KAFKA_PARTITIONS": strconv.Itoa(kafka.Partitions), "KAFKA_REPLICATION": "1",
		"CLICKHOUSE_ADDR": clickhouse.Addr[0], "CLICKHOUSE_DATABASE": clickhouse.Database, "CLICKHOUSE_USER": clickhouse.User,
		"CLICKHOUSE_PASSWORD": "",
	}
}

// run runs the command of a Job as its pod would.
func run(t *testing.T, kube *cluster, job object, settings map[string]string) {
	t.Helper()
	c := job.Spec.Template.Spec.Containers[0]
	args := slices.Clone(c.Args)
	if c.Name == "bootstrap" {
		args = append(args, "--kubernetes-api", kube.url, "--kubernetes-account", kube.account(t, job.Metadata.Name))
	}
	cmd := exec.CommandContext(t.Context(), harness.Binary(t, filepath.Base(c.Command[0])), args...)
	for name, value := range settings {
		cmd.Env = append(cmd.Env, "MILLRACE_"+name+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the job %s: millrace %s: %v\n%s", c.Name, strings.Join(args, " "), err, out)
	}
}

// firstAccount reads the Secret that the bootstrap job filled.
func firstAccount(t *testing.T, kube *cluster) map[string]string {
	t.Helper()
	secret := kube.call(t, http.MethodGet, "/api/v1/namespaces/"+namespace+"/secrets/millrace-first-account", nil)
	data, _ := secret["data"].(map[string]any)
	account := map[string]string{}
	for name, value := range data {
		plain, err := base64.StdEncoding.DecodeString(fmt.Sprint(value))
		if err != nil {
			t.Fatal(err)
		}
		account[name] = string(plain)
	}
	want := []string{"ADMIN_EMAIL", "ADMIN_PASSWORD", "API_KEY", "ORGANIZATION_ID", "WEBSITE_ID"}
	if got := slices.Sorted(maps.Keys(account)); !slices.Equal(got, want) {
		t.Fatalf("the first account's Secret holds %v, want %v", got, want)
	}
	return account
}

// send posts a body and returns the response's.
func send(t *testing.T, url, key, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	response, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %s %v\n%s", url, resp.Status, err, response)
	}
	return string(response)
}
