package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/millrace/millrace/internal/platform/config"
)

// Operation is something that brokers permit, in their own words.
type Operation string

// The operations that the daemons need.
const (
	Read  Operation = "READ"
	Write Operation = "WRITE"
)

// operationBits are the places of operations in what brokers answer.
var operationBits = map[Operation]kmsg.ACLOperation{Read: kmsg.ACLOperationRead, Write: kmsg.ACLOperationWrite}

// Permissions are what an own user may do with a resource; a broker that does not
// tell is taken to permit everything.
type Permissions int32

const untold = math.MinInt32 // what Kafka calls "not asked for"

// Permit reports whether an operation is permitted.
func (p Permissions) Permit(o Operation) bool {
	return p == untold || p&(1<<operationBits[o]) != 0
}

// Cluster is what brokers tell of themselves and of millrace's topics.
type Cluster struct {
	// Brokers are the addresses that brokers advertise.
	Brokers []string
	// Leads are how many partitions of millrace's topics each of them leads.
	Leads map[string]int
	// Version is the release that the broker which answered is of, as 4.0, by the requests that it
	// takes; empty where they are those of no release.
	Version string
	// Topics are by name without prefix; what is missing is not in it.
	Topics map[string]FoundTopic
	// Groups are the permissions on the consumer groups that were asked about, as far
	// as brokers tell.
	Groups map[string]Permissions
}

// FoundTopic is a topic as it is.
type FoundTopic struct {
	Partitions, Replicas int // the fewest of a partition
	Leaderless, Behind   int // partitions without a leader; with fewer replicas in sync than they have
	Settings             map[string]string
	Permissions          Permissions
	// Denied says that the own user may not even see the topic.
	Denied bool
}

// Inspect asks the brokers of cfg what they are, what topics they have, and what
// the user of cfg may do with them and with groups. It changes nothing.
func Inspect(ctx context.Context, cfg config.Kafka, groups ...string) (Cluster, error) {
	c := Cluster{Topics: map[string]FoundTopic{}, Groups: map[string]Permissions{}}
	err := withAdminClient(ctx, cfg, func(ctx context.Context, client *kgo.Client) error {
		c.readVersion(ctx, client)
		if err := c.readTopics(ctx, cfg, client); err != nil {
			return fmt.Errorf("requesting topics at %s: %w", strings.Join(cfg.Brokers, ", "), err)
		}
		if err := c.readSettings(ctx, cfg, client); err != nil {
			return err
		}
		return c.readGroups(ctx, client, groups)
	})
	return c, err
}

// readVersion asks whoever answers: of all brokers, one that is gone would take the time of the other questions.
func (c *Cluster) readVersion(ctx context.Context, client *kgo.Client) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "millrace", "inspect"
	if response, err := req.RequestWith(ctx, client); err == nil && response.ErrorCode == 0 {
		c.Version = releaseOf(kversion.FromApiVersionsResponse(response))
	}
}

// releaseOf leaves out what the client says where no release fits, such as "between v1.0 and v1.1" of a
// broker that lacks one old request.
func releaseOf(versions *kversion.Versions) string {
	guess := versions.VersionGuess()
	if release, newer := strings.CutPrefix(guess, "at least v"); newer {
		return "at least " + release
	}
	if release, fits := strings.CutPrefix(guess, "v"); fits {
		return release
	}
	return ""
}

// readTopics asks for every topic by name: one that the user may not see is then
// told apart from one that is missing.
func (c *Cluster) readTopics(ctx context.Context, cfg config.Kafka, client *kgo.Client) error {
	req := kmsg.NewPtrMetadataRequest()
	req.IncludeTopicAuthorizedOperations = true
	for i := range Topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = new(TopicName(cfg, Topics[i].Name))
		req.Topics = append(req.Topics, t)
	}
	response, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	addrs := map[int32]string{}
	for i := range response.Brokers {
		b := &response.Brokers[i]
		addrs[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		c.Brokers = append(c.Brokers, addrs[b.NodeID])
	}
	for i := range response.Topics {
		t := &response.Topics[i]
		if t.Topic == nil {
			continue
		}
		name := strings.TrimPrefix(*t.Topic, cfg.TopicPrefix)
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
		case errors.Is(err, kerr.TopicAuthorizationFailed):
			c.Topics[name] = FoundTopic{Denied: true}
		case err != nil:
			return fmt.Errorf("topic %s: %w", *t.Topic, err)
		default:
			c.Topics[name] = foundTopic(t)
			c.countLeaders(t, addrs)
		}
	}
	return nil
}

func (c *Cluster) countLeaders(t *kmsg.MetadataResponseTopic, addrs map[int32]string) {
	if c.Leads == nil {
		c.Leads = map[string]int{}
	}
	for i := range t.Partitions {
		if addr := addrs[t.Partitions[i].Leader]; addr != "" {
			c.Leads[addr]++
		}
	}
}

func foundTopic(t *kmsg.MetadataResponseTopic) FoundTopic {
	f := FoundTopic{
		Partitions: len(t.Partitions), Permissions: Permissions(t.AuthorizedOperations), Settings: map[string]string{},
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		if f.Replicas == 0 || len(p.Replicas) < f.Replicas {
			f.Replicas = len(p.Replicas)
		}
		if p.Leader < 0 {
			f.Leaderless++
		}
		if len(p.ISR) < len(p.Replicas) {
			f.Behind++
		}
	}
	return f
}

// readSettings leaves out what the user may not see. It asks by itself: kadm gives up all
// topics for one that is denied.
func (c *Cluster) readSettings(ctx context.Context, cfg config.Kafka, client *kgo.Client) error {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for name := range c.Topics {
		if !c.Topics[name].Denied {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, TopicName(cfg, name)
			req.Resources = append(req.Resources, r)
		}
	}
	if len(req.Resources) == 0 {
		return nil
	}
	response, err := req.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("requesting the settings of topics: %w", err)
	}
	for i := range response.Resources {
		resource := &response.Resources[i]
		settings := c.Topics[strings.TrimPrefix(resource.ResourceName, cfg.TopicPrefix)].Settings
		for _, s := range resource.Configs {
			if s.Value != nil && settings != nil {
				settings[s.Name] = *s.Value
			}
		}
	}
	return nil
}

func (c *Cluster) readGroups(ctx context.Context, client *kgo.Client, groups []string) error {
	for _, g := range groups {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{g}, true
		response, err := req.RequestWith(ctx, client)
		switch {
		case errors.Is(err, kerr.CoordinatorNotAvailable):
			continue // no group ever committed here: the brokers are yet to make what they keep groups in
		case errors.Is(err, kerr.GroupAuthorizationFailed):
			c.Groups[g] = 0 // not even where the group is kept
			continue
		case err != nil:
			return fmt.Errorf("requesting group %s: %w", g, err)
		}
		for i := range response.Groups {
			switch err := kerr.ErrorForCode(response.Groups[i].ErrorCode); {
			case errors.Is(err, kerr.GroupAuthorizationFailed):
				c.Groups[g] = 0
			case errors.Is(err, kerr.GroupIDNotFound):
				c.Groups[g] = untold
			case err != nil:
				return fmt.Errorf("requesting group %s: %w", g, err)
			default:
				c.Groups[g] = Permissions(response.Groups[i].AuthorizedOperations)
			}
		}
	}
	return nil
}

// Want is the topic as millrace would create it with the settings.
func (t Topic) Want(cfg config.Kafka) FoundTopic {
	replication := replicationOf(cfg)
	f := FoundTopic{
		Partitions: int(partitionsOf(cfg, &t)), Replicas: int(replication), Permissions: untold,
		Settings: map[string]string{},
	}
	for key, value := range t.settings(replication) {
		f.Settings[key] = *value
	}
	return f
}

// Newest returns the time of the newest record of a topic, as its producer wrote
// it; zero where there is none.
func Newest(ctx context.Context, cfg config.Kafka, topic string) (newest time.Time, err error) {
	err = withAdmin(ctx, cfg, func(ctx context.Context, adm *kadm.Client) error {
		listed, err := adm.ListMaxTimestampOffsets(ctx, TopicName(cfg, topic))
		if err != nil {
			return fmt.Errorf("requesting the newest record of %s: %w", topic, err)
		}
		listed.Each(func(o kadm.ListedOffset) {
			if at := time.UnixMilli(o.Timestamp); o.Err == nil && o.Timestamp > 0 && at.After(newest) {
				newest = at
			}
		})
		return nil
	})
	return newest, err
}
