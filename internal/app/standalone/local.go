package standalone

import (
	"cmp"
	"path/filepath"

	"github.com/millrace/millrace/internal/platform/config"
)

// Local fills the backends that the settings do not name with those of a
// standalone on this machine, so that a command beside it needs no settings.
func Local(s config.Settings) config.Settings {
	if len(s.Kafka.Brokers) == 0 {
		s.Kafka.Brokers = []string{s.Embedded.Kafka.Listen}
		if s.Kafka.Partitions == 0 {
			s.Kafka.Partitions = partitions
		}
		if s.Kafka.Replication == 0 {
			s.Kafka.Replication = replication
		}
	}
	if len(s.ClickHouse.Addr) == 0 {
		s.ClickHouse.Addr = []string{s.Embedded.ClickHouse.Listen}
	}
	if !s.Store.IsSet() {
		s.Store.URL = config.Secret("sqlite:" + filepath.Join(s.Data.Dir, storeFile))
	}
	return s
}

// LinkURL is where visitors reach the short links of the settings; where they name no host
// for them, those of a standalone on this machine.
func LinkURL(s config.Settings) string {
	return cmp.Or(s.Link.BaseURL(), config.ListenURL(linkListen))
}
