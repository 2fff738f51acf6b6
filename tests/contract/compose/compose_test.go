package compose

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/millrace/millrace/internal/app/daemon"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/testkit"
)

// filled are the values of .env.example that an operator has to fill in.
var filled = []string{"MILLRACE_VERSION=1.2.3", "POSTGRES_PASSWORD=p0", "CLICKHOUSE_PASSWORD=c0", "REDIS_PASSWORD=r0"}

// load reads the file with the environment of .env.example and what is set besides.
func load(t *testing.T, set ...string) (*types.Project, error) {
	t.Helper()
	dir := filepath.Join(testkit.Root(t), "deploy", "compose")
	options, err := cli.NewProjectOptions(
		[]string{filepath.Join(dir, "compose.yaml")}, cli.WithEnv(set), cli.WithEnvFiles(filepath.Join(dir, ".env.example")),
		cli.WithDotEnv, cli.WithDefaultProfiles("*"), cli.WithInterpolation(true), cli.WithNormalization(true),
		cli.WithConsistency(true),
	)
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.WithoutCancel(t.Context()))
}

func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := load(t, filled...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ours reports whether a service runs one of our programs.
func ours(s types.ServiceConfig) bool { return strings.HasPrefix(s.Image, "localhost/millrace:") }

func TestEveryServiceOfOursHasSettingsThatItAccepts(t *testing.T) {
	t.Parallel()
	checked := 0
	for name, s := range project(t).Services {
		if !ours(s) {
			continue
		}
		checked++
		var environ []string
		for key, value := range s.Environment {
			environ = append(environ, key+"="+*value)
		}
		var said bytes.Buffer
		options := daemon.Options(s.Command[0])
		options.Args, options.Environ, options.Output = []string{"--config.check"}, environ, &said
		_, _, err := config.Load(options)
		if err != nil || said.String() != "ok\n" {
			t.Errorf("%s: %q, %v", name, said.String(), err)
		}
	}
	if checked != 6 {
		t.Errorf("%d services run our programs, not 6", checked)
	}
}

// pinned is a name with a version of at least two numbers, or with a digest.
var pinned = regexp.MustCompile(`:\d+\.\d+[^:]*$|@sha256:[0-9a-f]{64}$`)

func TestEveryImageIsPinned(t *testing.T) {
	t.Parallel()
	for name, s := range project(t).Services {
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s runs %s, which is another one tomorrow", name, s.Image)
		}
	}
}

func TestServersAreWaitedForAndDaemonsAreConfined(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, s := range p.Services {
		once := s.Restart == "no"
		if healthy := s.HealthCheck != nil && !s.HealthCheck.Disable && len(s.HealthCheck.Test) > 0; healthy == once {
			t.Errorf("%s has a health check: %v; it runs once: %v", name, healthy, once)
		}
		for on, how := range s.DependsOn {
			want := types.ServiceConditionHealthy
			if p.Services[on].Restart == "no" {
				want = types.ServiceConditionCompletedSuccessfully
			}
			if how.Condition != want {
				t.Errorf("%s waits for %s: %s, want %s", name, on, how.Condition, want)
			}
		}
		if ours(s) && (!s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.Privileged || len(s.DependsOn) == 0) {
			t.Errorf("%s may do more than it needs, or waits for nothing", name)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s is open to the network at %s", name, port.Published)
			}
		}
	}
}

func TestASecretThatIsNotFilledInIsNamed(t *testing.T) {
	t.Parallel()
	for i, set := range filled {
		name, _, _ := strings.Cut(set, "=")
		others := slices.Delete(slices.Clone(filled), i, i+1)
		if _, err := load(t, others...); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestTheEnvironmentFileNamesWhatIsAsked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(testkit.Root(t), "deploy", "compose")
	file, err := os.ReadFile(filepath.Join(dir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join(dir, ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\$\{([A-Z_]+)`).FindAllSubmatch(file, -1) {
		if !bytes.Contains(example, append([]byte("\n"), append(m[1], '=')...)) {
			t.Errorf(".env.example does not name %s", m[1])
		}
	}
}
