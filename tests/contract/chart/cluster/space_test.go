package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/millrace/millrace/tests/contract/chart/rendering"
)

// space is a namespace of a test's own, with Helm for it.
type space struct {
	name string
	kube *kubernetes.Clientset
	helm *action.Configuration
	said *warnings

	mu  sync.Mutex
	ran []string // Jobs in the order in which Helm made them
}

// newSpace makes a namespace under the restricted standard, and completes the Jobs
// in it until the test ends. Its name is new, however often the test runs: nothing here
// removes a namespace, for that takes a controller.
func newSpace(t *testing.T, name string) *space {
	t.Helper()
	s := &space{said: &warnings{}}
	config := rest.CopyConfig(server)
	config.WarningHandlerWithContext = s.said
	var err error
	if s.kube, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
	}
	made, err := s.kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.name = made.Name
	flags := genericclioptions.NewConfigFlags(false)
	flags.APIServer, flags.BearerToken = &config.Host, &config.BearerToken
	flags.CAFile, flags.Namespace = &config.CAFile, &s.name
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS, c.WarningHandlerWithContext = -1, s.said
		return c
	}
	s.helm = &action.Configuration{}
	if err := s.helm.Init(flags, s.name, "secret", func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	s.completeJobs(t)
	return s
}

// completeJobs does what the job controller does with Jobs whose pods end well.
func (s *space) completeJobs(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			jobs, err := s.kube.BatchV1().Jobs(s.name).List(ctx, metav1.ListOptions{})
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("listing Jobs: %v", err)
				}
				return
			}
			for i := range jobs.Items {
				s.complete(ctx, t, &jobs.Items[i])
			}
		}, 100*time.Millisecond)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

func (s *space) complete(ctx context.Context, t *testing.T, job *batchv1.Job) {
	t.Helper()
	if job.Status.CompletionTime != nil {
		return
	}
	now := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}}
	s.mu.Lock()
	s.ran = append(s.ran, job.Name) // before anybody sees that it has
	s.mu.Unlock()
	_, err := s.kube.BatchV1().Jobs(s.name).UpdateStatus(ctx, job, metav1.UpdateOptions{})
	if err != nil && ctx.Err() == nil {
		t.Errorf("completing Job %s: %v", job.Name, err)
	}
}

// jobs returns which Jobs were made since it was last asked.
func (s *space) jobs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ran := s.ran
	s.ran = nil
	return ran
}

// left lists what of a release is in the namespace, as "Kind name".
func (s *space) left(t *testing.T) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(server).ServerPreferredNamespacedResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.APIResources {
			kind := &list.APIResources[i]
			if !slices.Contains(kind.Verbs, "list") {
				continue
			}
			objects, err := client.Resource(version.WithResource(kind.Name)).Namespace(s.name).List(t.Context(),
				metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + rendering.Release})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects.Items {
				found[o.GetKind()+" "+o.GetName()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// warnings are what the API server said beside its responses, such as that a pod
// would be rejected.
type warnings struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.text)
}

// hookTimeout is how long Helm waits for a hook.
const hookTimeout = time.Minute
