package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/adapter/kafka"
	"github.com/millrace/millrace/internal/contract/record"
	"github.com/millrace/millrace/internal/platform/control"
)

// lookAtKafka finds out whether brokers answer, where they say they are, and what
// topics they have.
func lookAtKafka(ctx context.Context, o *Options, n *notebook) {
	reached := n.dials(ctx, "kafka.reach", "kafka.brokers", o.Settings.Kafka.Brokers,
		"without Kafka, no event is accepted or stored", "start the brokers, or correct kafka.brokers")
	if len(reached) == 0 {
		return
	}
	through := *o // one that is silent would take the time in which others tell
	through.Settings.Kafka.Brokers, o = reached, &through
	group := o.Settings.Sink.Group
	found, err := kafka.Inspect(ctx, o.Settings.Kafka, group, kafka.BackfillGroup(group), kafka.WebGroup(group),
		kafka.ClickGroup(group), kafka.ExposureGroup(group))
	if len(found.Brokers) > 0 { // also when somebody whom they named has taken all the time
		n.advertised(context.WithoutCancel(ctx), &found)
	}
	if err != nil {
		n.kafkaRejects(&found, err)
		return
	}
	n.ok("kafka.reach", fmt.Sprintf("%s: %d brokers, Kafka %s",
		strings.Join(reached, ", "), len(found.Brokers), cmp.Or(found.Version, "of unknown version")))
	n.topics(o, &found)
	n.permissions(o, &found)
	n.newest(ctx, o)
}

// advertised is about the addresses at which clients go on, each to whoever leads a partition: no other
// broker responds in its place.
func (n *notebook) advertised(ctx context.Context, found *kafka.Cluster) {
	var silent []string
	for addr, cause := range unreachable(ctx, found.Brokers, overTCP) {
		silent = append(silent, fmt.Sprintf("%s (%s; leads %d partitions)", addr, cause, found.Leads[addr]))
	}
	if slices.Sort(silent); len(silent) > 0 {
		n.fail("kafka.advertised", "these addresses in advertised.listeners do not respond: "+strings.Join(silent, ", "),
			"after kafka.brokers, clients connect to the addresses that brokers advertise: for the partitions of such a "+
				"broker, edges return 503 and sinks store nothing",
			"set advertised.listeners of the brokers to addresses that this machine can reach")
	}
}

func (n *notebook) kafkaRejects(found *kafka.Cluster, err error) {
	if _, missing := errors.AsType[*fs.PathError](err); missing || strings.Contains(err.Error(), "PEM") {
		n.fail("kafka.reach", "a file for connections to Kafka cannot be used: "+err.Error(),
			"no daemon starts", "correct kafka.tls.*, or the file and its permissions")
		return
	}
	if len(found.Brokers) > 0 {
		n.fail("kafka.reach", "the brokers respond, but a metadata request failed: "+err.Error(),
			"the state of the topics and the permissions of the user are unknown",
			"make every broker respond at its advertised address, then run the check again; the brokers' logs name rejected "+
				"requests")
		return
	}
	n.fail("kafka.reach", "the brokers accept connections, but do not respond like Kafka: "+err.Error(),
		"without Kafka, no event is accepted or stored",
		"check the port and the password, and check that kafka.tls.* and kafka.sasl.* match the listener")
}

// topics compares the topics with what millrace would have created.
func (n *notebook) topics(o *Options, found *kafka.Cluster) {
	var missing []string
	for i := range kafka.Topics {
		t := &kafka.Topics[i]
		name := kafka.TopicName(o.Settings.Kafka, t.Name)
		have, ok := found.Topics[t.Name]
		switch {
		case !ok:
			missing = append(missing, name)
		case !have.Denied: // permissions tell of the others
			n.shape(name, have, t.Want(o.Settings.Kafka))
		}
	}
	n.topicSettings(o, found)
	if len(missing) > 0 {
		n.fail("kafka.topics", "missing topics: "+strings.Join(missing, ", "), "daemons are not ready without them",
			`run "millrace topics create"`)
	}
	n.well("kafka.topics", fmt.Sprintf("all %d topics exist with the right settings", len(kafka.Topics)))
}

// shape is about partitions.
func (n *notebook) shape(name string, have, want kafka.FoundTopic) {
	if have.Partitions != want.Partitions {
		n.warn("kafka.topics",
			fmt.Sprintf("%s has %d partitions, but kafka.partitions is %d", name, have.Partitions, want.Partitions),
			"partitions limit the number of sinks that share the work; a wrong setting misleads readers and applies to the "+
				"next topic that is created",
			fmt.Sprintf("set kafka.partitions to %d, or add partitions to the topic: docs/guides/growing-topics.md",
				have.Partitions))
	}
	if have.Leaderless > 0 {
		n.fail("kafka.topics", fmt.Sprintf("%d partitions of %s have no leader", have.Leaderless, name),
			"requests with events of the websites in them return 503", "restart the brokers that hold them")
	}
	if have.Behind > 0 {
		n.warn("kafka.topics", fmt.Sprintf("%d partitions of %s have replicas that are not in sync", have.Behind, name),
			"if one more broker fails, they stop or are lost", "check the brokers that are unavailable or slow")
	}
}

// kinds of access that each daemon needs, by topic.
func needs(o *Options, topic string) (all []kafka.Operation) {
	stored := topic == record.TopicEvents || topic == record.TopicEventsBackfill ||
		slices.Contains(kafka.WebTopics, topic) ||
		slices.Contains(kafka.ClickTopics, topic)
	exposures := slices.Contains(kafka.ExposureTopics, topic)
	letters := strings.HasSuffix(topic, kafka.DeadLetterSuffix)
	if stored && o.has(Edge) || letters && o.has(Sink) || (topic == control.Topic || exposures) && o.has(Query) {
		all = append(all, kafka.Write)
	}
	if (stored || exposures) && o.has(Sink) || topic == control.Topic && o.has(Edge, Query) {
		all = append(all, kafka.Read)
	}
	return all
}

// permissions compares what brokers permit with what the daemons do.
func (n *notebook) permissions(o *Options, found *kafka.Cluster) {
	lacking := map[string][]string{}
	for i := range kafka.Topics {
		t, ok := found.Topics[kafka.Topics[i].Name]
		if !ok {
			continue
		}
		for _, op := range needs(o, kafka.Topics[i].Name) {
			if t.Denied || !t.Permissions.Permit(op) {
				lacking[string(op)+" on topic"] = append(lacking[string(op)+" on topic"],
					kafka.TopicName(o.Settings.Kafka, kafka.Topics[i].Name))
			}
		}
	}
	for g, p := range found.Groups {
		if o.has(Sink) && !p.Permit(kafka.Read) {
			lacking["READ on group"] = append(lacking["READ on group"], g)
		}
	}
	for right, names := range lacking {
		slices.Sort(names)
		n.fail("kafka.permissions", fmt.Sprintf("the Kafka user lacks %s %s", right, strings.Join(names, ", ")),
			"edges return 503, or sinks store nothing, with authorization errors in the log",
			`run kafka-acls.sh --add --allow-principal …; if each daemon has its own user, check each one: "millrace doctor " +
				"--role sink"`)
	}
	n.well("kafka.permissions", "the Kafka user has all permissions that the daemons need")
}

// newest compares this machine's clock with those of the edges, which write the
// time of each record: brokers tell no time.
func (n *notebook) newest(ctx context.Context, o *Options) {
	newest, err := kafka.Newest(ctx, o.Settings.Kafka, record.TopicEvents)
	if ahead := newest.Sub(o.Now()); err == nil && ahead > noticeable {
		n.warn("clock.edges", fmt.Sprintf("the newest record of %s is from %s ahead of this machine's clock",
			record.TopicEvents, ahead.Round(time.Second)),
			"the clock of an edge is fast, or this one is slow; sinks accept times up to 10 minutes ahead, and the erasure of "+
				"a visitor misses events that such an edge received just before it",
			`run "timedatectl status" here and on the edges`)
	}
}

// dials returns those of the addresses that take connections.
func (n *notebook) dials(
	ctx context.Context, check, setting string, addrs []string, why, do string,
) (reached []string) {
	var rejected []string
	silent := unreachable(ctx, addrs, overTCP)
	for _, addr := range addrs {
		if cause, ok := silent[addr]; ok {
			rejected = append(rejected, addr+" ("+cause+")")
			continue
		}
		reached = append(reached, addr)
	}
	slices.Sort(rejected)
	what := fmt.Sprintf("these addresses in %s do not respond: %s", setting, strings.Join(rejected, ", "))
	switch {
	case len(rejected) == 0:
	case len(reached) > 0:
		n.warn(check, what, "the other addresses are used instead", do)
	default:
		n.fail(check, what, why, do)
	}
	return reached
}

// dial connects to an address, or says why not.
type dial func(ctx context.Context, addr string) (net.Conn, error)

func overTCP(ctx context.Context, addr string) (net.Conn, error) {
	return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", addr)
}

// unreachable returns the addresses that take no connection, and why. They are tried side by side: a machine
// that is gone says nothing, and a few of those would leave no time for the others.
func unreachable(ctx context.Context, addrs []string, connect dial) map[string]string {
	var mu sync.Mutex
	var all sync.WaitGroup
	rejected := map[string]string{}
	for _, addr := range addrs {
		all.Go(func() {
			conn, err := connect(ctx, addr)
			if err == nil {
				conn.Close()
				return
			}
			mu.Lock()
			defer mu.Unlock()
			rejected[addr] = reason(err)
		})
	}
	all.Wait()
	return rejected
}

const dialTimeout = 3 * time.Second

// reason is the last part of a network error, without the address again.
func reason(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}
