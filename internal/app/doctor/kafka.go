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
		"nothing is accepted and nothing stored without Kafka", "start the brokers, or correct kafka.brokers")
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
		n.fail("kafka.advertised", "of advertised.listeners, these do not answer: "+strings.Join(silent, ", "),
			"clients go on at the addresses that brokers advertise, not at kafka.brokers: of the partitions that such a "+
				"broker leads, edges answer 503 and sinks store nothing",
			"set advertised.listeners of the brokers to addresses that this machine reaches")
	}
}

func (n *notebook) kafkaRejects(found *kafka.Cluster, err error) {
	if _, missing := errors.AsType[*fs.PathError](err); missing || strings.Contains(err.Error(), "PEM") {
		n.fail("kafka.reach", "a file for the connections to Kafka cannot be used: "+err.Error(),
			"no daemon starts", "correct kafka.tls.*, or the file and its permissions")
		return
	}
	if len(found.Brokers) > 0 {
		n.fail("kafka.reach", "brokers name each other, and do not answer all that they are asked: "+err.Error(),
			"how topics are, and what the user may do, is not known",
			"make every broker answer at the address that it advertises, then ask again; their logs say what they reject")
		return
	}
	n.fail("kafka.reach", "brokers take connections and do not answer as Kafka does: "+err.Error(),
		"nothing is accepted and nothing stored without Kafka",
		"is it Kafka's port, do kafka.tls.* and kafka.sasl.* fit the listener, and is the password right?")
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
		n.fail("kafka.topics", "missing topics: "+strings.Join(missing, ", "), "daemons do not become ready without them",
			`"millrace topics create"`)
	}
	n.well("kafka.topics", fmt.Sprintf("all %d topics are there and as they should be", len(kafka.Topics)))
}

// shape is about partitions.
func (n *notebook) shape(name string, have, want kafka.FoundTopic) {
	if have.Partitions != want.Partitions {
		n.warn("kafka.topics",
			fmt.Sprintf("%s has %d partitions, and kafka.partitions says %d", name, have.Partitions, want.Partitions),
			"partitions bound how many sinks share the work; settings that say something else mislead whoever reads them, "+
				"and the next topic that is created",
			fmt.Sprintf("set kafka.partitions to %d, or let the topic grow: docs/guides/growing-topics.md", have.Partitions))
	}
	if have.Leaderless > 0 {
		n.fail("kafka.topics", fmt.Sprintf("%d partitions of %s have no leader", have.Leaderless, name),
			"events of the websites in them are answered 503", "bring the brokers back that hold them")
	}
	if have.Behind > 0 {
		n.warn("kafka.topics", fmt.Sprintf("%d partitions of %s have replicas that are not in sync", have.Behind, name),
			"one more broker that fails stops or loses them", "look at the brokers that are away or slow")
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
			"edges answer 503, or sinks store nothing, with authorization errors in the log",
			`kafka-acls.sh --add --allow-principal … ; a user for each daemon keeps them apart: "millrace doctor --role sink"`)
	}
	n.well("kafka.permissions", "the Kafka user may do what the daemons do")
}

// newest compares this machine's clock with those of the edges, which write the
// time of each record: brokers tell no time.
func (n *notebook) newest(ctx context.Context, o *Options) {
	newest, err := kafka.Newest(ctx, o.Settings.Kafka, record.TopicEvents)
	if ahead := newest.Sub(o.Now()); err == nil && ahead > noticeable {
		n.warn("clock.edges", fmt.Sprintf("the newest record of %s is from %s ahead of this machine's clock",
			record.TopicEvents, ahead.Round(time.Second)),
			"the clock of an edge is ahead, or this one is behind; sinks take times no further than 10 minutes ahead, "+
				"and the erasure of a visitor leaves what such an edge had received just before",
			`"timedatectl status" here and on the edges`)
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
	what := fmt.Sprintf("of %s, these do not answer: %s", setting, strings.Join(rejected, ", "))
	switch {
	case len(rejected) == 0:
	case len(reached) > 0:
		n.warn(check, what, "as long as the others do, this is bridged", do)
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
