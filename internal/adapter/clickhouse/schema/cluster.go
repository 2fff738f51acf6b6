package schema

import (
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
