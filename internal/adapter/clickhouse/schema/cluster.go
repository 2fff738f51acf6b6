package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/adapter/clickhouse"
)

// A cluster's tables are those of a single server, made on every replica with
// engines that replicate. It has one shard: a token is known to the replicas of
// the shard that took it, so a retry that reached another shard would store its
// rows twice (CheckExactness rejects that).
//
// The paths in Keeper are made of the servers' own macros {shard} and {replica};
// a replica that is added later finds its tables by running the migration again.
const (
	replicaPath = "'/clickhouse/tables/{shard}/{database}/{table}'"
	replicaName = "'{replica}'"
)

// replicatedWindow is what window is for a replicated table.
const replicatedWindow = "replicated_deduplication_window"

// replicatedSeconds is how long a cluster remembers a token at most, besides the
// count: the count is what ends it, as on a single server.
const replicatedSeconds = "86400"

func onCluster(name string) string {
	if name == "" {
		return ""
	}
	return " ON CLUSTER " + clickhouse.QuoteName(name)
}

// replicated returns the engine that does the same on every replica.
func replicated(engine string) string {
	family, args, _ := strings.Cut(engine, "(")
	all := []string{replicaPath, replicaName}
	if args = strings.TrimSuffix(args, ")"); args != "" {
		all = append(all, args)
	}
	return "Replicated" + family + "(" + strings.Join(all, ", ") + ")"
}

// replicatedSettings returns the settings of a replicated table. Those about
// fsync stay: what one replica acknowledged may be all there is of it for a
// moment, and with a quorum a power cut may reach more than one.
func replicatedSettings(settings []Setting) []Setting {
	all := make([]Setting, 0, len(settings)+1)
	for _, s := range settings {
		if s.Name == window {
			all = append(all,
				Setting{Name: replicatedWindow, Value: s.Value},
				Setting{Name: replicatedWindow + "_seconds", Value: replicatedSeconds})
			continue
		}
		all = append(all, s)
	}
	return all
}

// onEveryReplica returns what a statement of a migration is on a cluster. A table is made from the
// table as data, whose engine and settings differ there; a view and a change get an ON CLUSTER
// clause; an INSERT stays as it is, since tables replicate their rows.
func onEveryReplica(statement, cluster string) (string, error) {
	m := madeOrAltered.FindStringSubmatch(statement)
	switch {
	case strings.HasPrefix(statement, "INSERT INTO "):
		return statement, nil
	case m == nil:
		return "", fmt.Errorf("%w: no cluster statement exists for %q", ErrSchema, statement)
	case m[1] != "CREATE TABLE IF NOT EXISTS":
		return m[0] + onCluster(cluster) + statement[len(m[0]):], nil
	}
	i := slices.IndexFunc(Tables, func(t Table) bool { return t.Name == m[2] })
	if i < 0 {
		return "", fmt.Errorf("%w: table %s is not in schema.Tables", ErrSchema, m[2])
	}
	return Tables[i].CreateSQL(cluster), nil
}

var madeOrAltered = regexp.MustCompile(
	`^(CREATE TABLE IF NOT EXISTS|CREATE MATERIALIZED VIEW IF NOT EXISTS|ALTER TABLE) (\w+)`)
