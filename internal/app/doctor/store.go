package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/adapter/redis"
	"github.com/millrace/millrace/internal/adapter/store"
)

const storeAway = "edges serve cached entries for lookup.stale and then return 503; sign-ins and changes of keys fail"

// lookAtStore finds out whether the metadata store answers, is migrated, and lets
// its user work.
func lookAtStore(ctx context.Context, o *Options, n *notebook) {
	if !o.has(Edge, Query) {
		return
	}
	if path := store.MissingFile(o.Settings.Store); path != "" {
		n.fail("store.reach", "no metadata store exists at "+path, storeAway,
			`create it with "millrace migrate" and the first account with "millrace bootstrap", or correct store.url`)
		return
	}
	db, err := store.Connect(ctx, o.Settings.Store)
	if err != nil {
		n.fail("store.reach", err.Error(), storeAway,
			"start the server, or correct store.url: host, port, database, user and password")
		return
	}
	defer db.Close() //nolint:errcheck // nothing was written
	asked := o.Now()
	st, err := db.Inspect(ctx)
	if err != nil {
		n.fail("store.reach", err.Error(), storeAway, "check the log of the server")
		return
	}
	n.ok("store.reach", st.Version)
	if st.Kind != "sqlite" {
		n.clocks("clock.store", "the metadata store", st.Clock, asked, o.Now())
	}
	if err := db.CheckSchema(ctx); errors.Is(err, store.ErrChanged) {
		n.fail("store.schema", err.Error(), "daemons of this build do not start",
			useItsBuild)
	} else {
		n.storeSchema(&st)
	}
	n.storeRights(&st)
}

// useItsBuild is the advice for a database that another build has created.
const useItsBuild = "use the build that created the database, or an empty database"

func (n *notebook) storeSchema(st *store.State) {
	switch {
	case st.Schema == 0:
		n.fail("store.schema", "the metadata store has no schema yet", "daemons are not ready",
			`run "millrace migrate", then "millrace bootstrap" for the first account`)
	case st.Schema < st.Known:
		n.fail("store.schema",
			fmt.Sprintf("the metadata store is at version %d, but this build needs %d", st.Schema, st.Known),
			"daemons of this version are not ready",
			`run "millrace migrate"; migrations only add, so the previous version keeps working`)
	case st.Schema > st.Known:
		n.warn("store.schema",
			fmt.Sprintf("the metadata store is at version %d, but this build knows only %d", st.Schema, st.Known),
			"an upgrade is in progress, or this binary is old; it keeps working, because migrations only add",
			"finish the upgrade: docs/guides/upgrading.md")
	default:
		n.ok("store.schema", fmt.Sprintf("version %d, as this build needs", st.Schema))
	}
}

func (n *notebook) storeRights(st *store.State) {
	switch {
	case st.ReadOnly:
		n.fail("store.rights", "the metadata store is read-only",
			"management requests fail, and quotas and erasures make no progress",
			"point store.url at the primary; for SQLite, make file and folder writable")
	case len(st.Lacking) > 0:
		n.fail("store.rights", "the store's user may not read and write "+strings.Join(st.Lacking, ", "),
			"requests that need these tables return 503",
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO …, or run as the tables' owner")
	case st.Schema < st.Known && !st.MayMigrate:
		n.fail("store.rights", "the store's user may not create tables", `"millrace migrate" fails as this user`,
			"GRANT CREATE ON SCHEMA public TO …, or migrate as the owner")
	case st.Schema > 0:
		n.ok("store.rights", "the user may read and write every table")
	}
}

// lookAtRedis finds out whether limits can be shared.
func lookAtRedis(ctx context.Context, o *Options, n *notebook) {
	if !o.has(Edge, Query) {
		return
	}
	if !o.Settings.Redis.IsSet() {
		n.ok("redis.reach",
			"redis.url is empty: each process counts callers alone, which suits one edge and one query host")
		return
	}
	const away = "each process counts callers alone, so several processes together admit a multiple of each limit"
	limits, err := redis.Open(o.Settings.Redis)
	if err != nil {
		n.fail("redis.reach", err.Error(), "edges and query hosts do not start", "correct redis.*")
		return
	}
	defer limits.Close() //nolint:errcheck // nothing is kept
	asked := o.Now()
	st, err := limits.Inspect(ctx)
	if err != nil {
		do := "start it, or correct redis.url"
		if text := err.Error(); strings.Contains(text, "WRONGPASS") || strings.Contains(text, "NOAUTH") ||
			strings.Contains(text, "AUTH") {
			do = "correct user and password in redis.url"
		}
		n.fail("redis.reach", err.Error(), away, do)
		return
	}
	if st.Version == "" {
		n.ok("redis.reach", "Redis accepts the counters of limits; its user may not run INFO, so the version is unknown")
	} else {
		n.ok("redis.reach", "Redis "+strings.TrimPrefix(st.Version, "Redis ")+", "+st.Mode)
	}
	n.clocks("clock.redis", "Redis", st.Clock, asked, o.Now())
	n.redisMode(&st, away)
}

func (n *notebook) redisMode(st *redis.State, away string) {
	if st.Mode == "cluster" {
		n.warn("redis.mode", "Redis is a cluster, and millrace uses only one server of it",
			"the server returns MOVED for keys of other servers, and each process counts those callers alone",
			"use a single primary, with a replica for failover")
	}
	if st.Role == "slave" {
		n.fail("redis.mode", "redis.url points to a replica", away, "set redis.url to the primary")
	}
	if st.Eviction != "" && st.Eviction != "noeviction" { // all that limits write expires, so every other one drops it
		n.warn("redis.mode", "maxmemory-policy is "+st.Eviction,
			"Redis removes counters when its memory is full, so callers exceed their limits",
			"run CONFIG SET maxmemory-policy noeviction, and provide about 5 KB of memory for each caller: "+
				"docs/guides/limits.md")
	}
}
