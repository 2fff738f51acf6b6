package kafka

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/platform/config"
)

// Tapper is somebody who may read topics and nothing else.
type Tapper struct {
	// Principal is who it is to the brokers, such as "User:alice".
	Principal string
	// Topics are names without prefix; none means every topic but those with dead
	// letters, which may hold what was rejected for a reason, those with what is
	// told of persons, and internal ones.
	Topics []string
	// GroupPrefix is what its consumer groups begin with; empty means the
	// principal's name and a hyphen.
	GroupPrefix string
}

// ACL is one permission in the words of the brokers' own tools.
type ACL struct {
	ResourceType   string `json:"resourceType"` // TOPIC or GROUP
	ResourceName   string `json:"resourceName"`
	PatternType    string `json:"patternType"` // LITERAL or PREFIXED
	Principal      string `json:"principal"`
	Host           string `json:"host"`           // "*": any
	Operation      string `json:"operation"`      // READ or DESCRIBE
	PermissionType string `json:"permissionType"` // ALLOW
}

var (
	principalForm = regexp.MustCompile(`^[A-Za-z]+:[^\x00-\x1f]+$`)
	groupForm     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`)
)

// ACLs returns what lets the tapper read, and only that. The names of the
// service's own consumer groups are given so that no pattern includes one:
// whoever joins them takes events away from it.
func (t Tapper) ACLs(cfg config.Kafka, ownGroups ...string) ([]ACL, error) {
	if !principalForm.MatchString(t.Principal) {
		return nil, fmt.Errorf("principal %q must be a type and a name, such as User:alice", t.Principal)
	}
	if strings.HasSuffix(t.Principal, ":*") {
		return nil, fmt.Errorf("principal %s matches every user; it must name a single one", t.Principal)
	}
	group, err := t.groupPrefix(ownGroups)
	if err != nil {
		return nil, err
	}
	topics, err := t.topics()
	if err != nil {
		return nil, err
	}
	acl := ACL{Principal: t.Principal, Host: "*", PermissionType: "ALLOW", ResourceType: "TOPIC", PatternType: "LITERAL"}
	var all []ACL
	for _, topic := range topics {
		acl.ResourceName = TopicName(cfg, topic)
		for _, acl.Operation = range []string{"DESCRIBE", "READ"} {
			all = append(all, acl)
		}
	}
	acl.ResourceType, acl.ResourceName, acl.PatternType, acl.Operation = "GROUP", group, "PREFIXED", "READ"
	return append(all, acl), nil
}

func (t Tapper) groupPrefix(own []string) (string, error) {
	prefix := t.GroupPrefix
	if prefix == "" {
		_, name, _ := strings.Cut(t.Principal, ":")
		prefix = name + "-"
		if !groupForm.MatchString(prefix) {
			return "", fmt.Errorf("principal %s cannot be part of a group name; choose a prefix with --group", t.Principal)
		}
	}
	if !groupForm.MatchString(prefix) {
		return "", fmt.Errorf("group prefix %q must be 1 to 200 letters, digits, dots, underscores and hyphens", prefix)
	}
	for _, name := range own {
		if strings.HasPrefix(name, prefix) {
			return "", fmt.Errorf("group prefix %q includes %s, the service's own group; choose another", prefix, name)
		}
	}
	return prefix, nil
}

func (t Tapper) topics() ([]string, error) {
	var known, chosen []string
	for i := range Topics {
		known = append(known, Topics[i].Name)
		if !strings.HasSuffix(Topics[i].Name, DeadLetterSuffix) && !Topics[i].Internal && !Topics[i].Personal {
			chosen = append(chosen, Topics[i].Name)
		}
	}
	if len(t.Topics) == 0 {
		return chosen, nil
	}
	chosen = nil
	for _, name := range t.Topics {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown topic %q; the topics are %s", name, strings.Join(known, ", "))
		}
		if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

// CreateACLs creates the permissions at the brokers. Those that are there stay.
func CreateACLs(ctx context.Context, cfg config.Kafka, acls []ACL) error {
	return withAdmin(ctx, cfg, func(ctx context.Context, adm *kadm.Client) error {
		var errs []error
		for i := range acls {
			b, err := acls[i].builder()
			if err != nil {
				return err
			}
			results, err := adm.CreateACLs(ctx, b)
			for _, r := range results {
				err = errors.Join(err, r.Err)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("creating the permission to %s %s %s: %w",
					acls[i].Operation, acls[i].ResourceType, acls[i].ResourceName, err))
			}
		}
		return errors.Join(errs...)
	})
}

func (a *ACL) builder() (*kadm.ACLBuilder, error) {
	operation, err := kmsg.ParseACLOperation(a.Operation)
	if err != nil {
		return nil, fmt.Errorf("reading operation %q: %w", a.Operation, err)
	}
	pattern, err := kmsg.ParseACLResourcePatternType(a.PatternType)
	if err != nil {
		return nil, fmt.Errorf("reading pattern type %q: %w", a.PatternType, err)
	}
	b := kadm.NewACLs().Allow(a.Principal).AllowHosts(a.Host).Operations(operation).ResourcePatternType(pattern)
	if a.ResourceType == "GROUP" {
		return b.Groups(a.ResourceName), nil
	}
	return b.Topics(a.ResourceName), nil
}
