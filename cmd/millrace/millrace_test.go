package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/adapter/kafka/kafkatest"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/tenant/apikey"
	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/auth"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/website"
)

// millrace runs a command line.
func millrace(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func mustMillrace(t *testing.T, args ...string) string {
	t.Helper()
	out, _, err := millrace(t, args...)
	if err != nil {
		t.Fatalf("millrace %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func TestEveryCommandHelpsWithAnExample(t *testing.T) {
	t.Parallel()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: the short help is %q", cmd.CommandPath(), cmd.Short)
		}
		if cmd.Runnable() && cmd.Example == "" && cmd.Name() != "version" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		help := mustMillrace(t, append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		if strings.Contains(help, "--sink.window") {
			t.Errorf("%s shows all settings", cmd.CommandPath())
		}
	}
	check(newRoot())
}

func TestMistypedNamesAreErrorsWithASuggestion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"keys list --kafka.broker x", "did you mean --kafka.brokers?"},
		{"stanalone", "standalone"},
		{"tap a b", "accepts at most 1 arg"},
		{"tap --since yesterday", `--since must be a duration such as 10m or a time such as`},
		{"config check --log.level loud", "--log.level"},
	} {
		_, _, err := millrace(t, strings.Fields(tt.args)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("millrace %s: the error is %v, want %q in it", tt.args, err, tt.want)
		}
	}
}

func TestConfigAndVersionAnswer(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"config check":               `^ok\n$`,
		"config print --data.dir /x": `(?m)^data\.dir = /x  \(--data\.dir\)$`,
		"config reference":           `(?m)^kafka\.brokers +MILLRACE_KAFKA_BROKERS `,
		"standalone --config.check":  `^ok\n$`,
		"tap --config.check":         `^ok\n$`,
		"version":                    `^millrace \S+ \(go\S+, \S+/\S+\)\n$`,
		"config print --store.url postgres://u:geheim@h/d": `(?m)^store\.url = \[redacted\]`,
	} {
		out := mustMillrace(t, strings.Fields(args)...)
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("millrace %s prints\n%s\nwant a match of %s", args, out, want)
		}
		if strings.Contains(out, "geheim") {
			t.Errorf("millrace %s prints a secret", args)
		}
	}
}

// seeded is a store with one organization and one website.
func seeded(t *testing.T) (flag string, db *store.Store, w *website.Website) {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	db, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := addOrganization(t, db, "First")
	if w, err = website.New(o.ID, "Shop", "shop.example", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := db.CreateWebsite(t.Context(), audit.ByOperator("test"), w); err != nil {
		t.Fatal(err)
	}
	return "--store.url=" + url, db, w
}

func addOrganization(t *testing.T, db *store.Store, name string) *org.Organization {
	t.Helper()
	o, err := org.New(name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateOrganization(t.Context(), audit.BySystem(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAKeyIsCreatedListedAndRevoked(t *testing.T) {
	t.Parallel()
	url, db, w := seeded(t)
	secret, said, err := millrace(t, "keys", "create", url, "--name", "server", "--website", w.ID,
		"--scope", "track:events", "--scope", "read:data", "--expires", "720h")
	if err != nil {
		t.Fatal(err)
	}
	secret = strings.TrimSuffix(secret, "\n")
	if !apikey.WellFormed("mlr", []byte(secret)) || strings.Contains(said, secret) {
		t.Errorf("stdout holds %q, stderr %q", secret, said)
	}
	key, err := db.KeyByHash(t.Context(), apikey.HashOf([]byte(secret)))
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(key.ExpiresAt); key.WebsiteID != w.ID || key.OrganizationID != w.OrganizationID ||
		left < 719*time.Hour || left > 720*time.Hour {
		t.Errorf("the key is %+v", key)
	}
	list := mustMillrace(t, "keys", "list", url)
	if !regexp.MustCompile(key.ID + ` +server +mlr_\w+… +active +` + w.ID +
		` +\S+ +never +read:data,track:events`).MatchString(list) {
		t.Errorf("the list is\n%s", list)
	}
	if strings.Contains(list, secret) {
		t.Error("the list shows the secret")
	}
	mustMillrace(t, "keys", "revoke", url, key.ID)
	if list := mustMillrace(t, "keys", "list", url); !strings.Contains(list, "revoked") {
		t.Errorf("after the revocation the list is\n%s", list)
	}
}

func TestAGlobalKeyMayHoldEveryScope(t *testing.T) {
	t.Parallel()
	url, db, _ := seeded(t)
	secret := strings.TrimSpace(mustMillrace(t, "keys", "create", url, "--name", "admin", "--scope", "all"))
	key, err := db.KeyByHash(t.Context(), apikey.HashOf([]byte(secret)))
	if err != nil {
		t.Fatal(err)
	}
	if len(key.Scopes) != len(auth.Scopes) || key.WebsiteID != "" || !key.ExpiresAt.IsZero() {
		t.Errorf("the key is %+v", key)
	}
}

func TestKeyCommandsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	url, db, _ := seeded(t)
	second := addOrganization(t, db, "Second")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"create", "--name", "x", "--scope", "all"}, second.ID + " (Second)"},
		{
			[]string{"create", "--name", "x", "--scope", "read:everything"},
			`--scope: unknown scope "read:everything"; the scopes are read:data,`,
		},
		{[]string{"create", "--name", "x", "--organization", second.ID}, "scopes must have at least one entry"},
		{[]string{"create", "--scope", "all", "--organization", second.ID}, "name must have 1 to 100 characters"},
		{
			[]string{"create", "--name", "x", "--scope", "all", "--organization", "org_x"},
			"--organization org_x: organization not found",
		},
		{
			[]string{"create", "--name", "x", "--scope", "all", "--organization", second.ID, "--website", "web_x"},
			"website not found",
		},
		{
			[]string{"create", "--name", "x", "--scope", "all", "--expires", "soon"},
			`--expires must be a duration such as 720h or a time such as`,
		},
		{
			[]string{"create", "--name", "x", "--scope", "all", "--expires", ""},
			`--expires must be a duration such as 720h or a time such as`,
		},
		{
			[]string{"create", "--name", "x", "--scope", "all", "--organization", second.ID, "--expires", "-1h"},
			"expiresAt must be in the future",
		},
		{[]string{"revoke", "key_x"}, "key_x: API key not found"},
	} {
		_, _, err := millrace(t, append([]string{"keys", url}, tt.args...)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("keys %v: the error is %v, want %q in it", tt.args, err, tt.want)
		}
	}
}

func TestAKeyCommandOnAStoreWithoutSchemaNamesTheRemedy(t *testing.T) {
	t.Parallel()
	_, _, err := millrace(t, "keys", "list", "--store.url=sqlite:"+filepath.Join(t.TempDir(), "x.db"))
	if err == nil || !strings.Contains(err.Error(), "millrace migrate") {
		t.Errorf("the error is %v", err)
	}
}

func TestTopicsAreCheckedAndCreated(t *testing.T) {
	t.Parallel()
	_, cfg := kafkatest.Cluster(t)
	brokers := []string{"--kafka.brokers=" + cfg.Brokers[0], "--kafka.partitions=2", "--kafka.replication=1"}
	if _, _, err := millrace(t, append([]string{"topics", "check"}, brokers...)...); err == nil ||
		!strings.Contains(err.Error(), "millrace topics create") {
		t.Errorf("before: the error is %v", err)
	}
	if out := mustMillrace(t, append([]string{"topics", "create"}, brokers...)...); !strings.Contains(out,
		"created events.v1\n") {
		t.Errorf("create prints %q", out)
	}
	for _, sub := range []string{"create", "check"} {
		if out := mustMillrace(t, append([]string{"topics", sub}, brokers...)...); out != "all topics exist\n" {
			t.Errorf("afterwards %s prints %q", sub, out)
		}
	}
	out, _, err := millrace(t, "topics", "check", brokers[0], "--kafka.replication=3")
	if !errors.Is(err, kafka.ErrUnsafeTopics) ||
		!strings.Contains(out, "breaks: events.v1 has 1 replicas, but kafka.replication is 3") ||
		!strings.Contains(out, "kafka-reassign-partitions.sh") {
		t.Errorf("of topics with one replica check prints %q and ends with %v", out, err)
	}
	mustMillrace(t, "topics", "check", brokers[0], "--kafka.replication=3", "--kafka.allow_weak_topics=true")
}

func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                          {},
		"10m":                       now.Add(-10 * time.Minute),
		"-10m":                      now.Add(-10 * time.Minute),
		"2026-11-20":                time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		"2026-11-20 10:00:00":       time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		"2026-11-20T10:00:00+02:00": time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
	} {
		if got, err := parseSince(text, now); !got.Equal(want) || err != nil {
			t.Errorf("parseSince(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}
