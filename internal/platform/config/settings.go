package config

import "time"

// Settings is the table of every setting of every daemon. A field's place gives
// its one name: Kafka.Brokers is the YAML key kafka.brokers, the flag
// --kafka.brokers and the environment variable MILLRACE_KAFKA_BROKERS. Each
// daemon accepts all of them and reads the ones it needs, so that one file
// serves a whole deployment. docs/reference/config.md is generated from the
// tags: "help" is the sentence shown, with units; rule.go explains the others.
type Settings struct {
	Data       Data       `koanf:"data"`
	Query      Query      `koanf:"query"`
	Ingest     Ingest     `koanf:"ingest"`
	Enrich     Enrich     `koanf:"enrich"`
	Link       Link       `koanf:"link"`
	Domains    Domains    `koanf:"domains"`
	Proxy      Proxy      `koanf:"proxy"`
	Limits     Limits     `koanf:"limits"`
	Quota      Quota      `koanf:"quota"`
	Billing    Billing    `koanf:"billing"`
	Admin      Admin      `koanf:"admin"`
	Embedded   Embedded   `koanf:"embedded"`
	Kafka      Kafka      `koanf:"kafka"`
	ClickHouse ClickHouse `koanf:"clickhouse"`
	Store      Store      `koanf:"store"`
	Redis      Redis      `koanf:"redis"`
	Sink       Sink       `koanf:"sink"`
	Key        Key        `koanf:"key"`
	Lookup     Lookup     `koanf:"lookup"`
	Flags      Flags      `koanf:"flags"`
	Session    Session    `koanf:"session"`
	Mail       Mail       `koanf:"mail"`
	Log        Log        `koanf:"log"`
	Trace      Trace      `koanf:"trace"`
	Probe      Probe      `koanf:"probe"`
	Shutdown   Shutdown   `koanf:"shutdown"`
}

// Data says where standalone keeps its files.
type Data struct {
	Dir string `koanf:"dir" form:"path" help:"Folder of standalone mode: embedded servers, SQLite database, dev.env."`
}

// Query configures the query and management host.
type Query struct {
	Listen   string        `koanf:"listen" form:"listen" help:"Address of the query host, host:port."`
	Deadline time.Duration `koanf:"deadline" range:"100ms..10m" help:"Longest time one request may take before it is answered 503."`

	MaxInFlight   int `koanf:"max_in_flight" range:"1..1000000" help:"Requests served at the same time, from when their body is there; one more is answered 503 with Retry-After, except GET /health."`
	MaxBodyMemory int `koanf:"max_body_memory" range:"16777216..274877906944" help:"Bytes that the bodies of requests in flight, and answers with flags of more than 64 KiB until their clients have them, may take, each half of it at most; beyond it they are answered 503 with Retry-After. Bodies of one address may take a quarter."`
	MaxConns      int `koanf:"max_connections" range:"0..1000000" help:"Open connections; one more is answered 503 and closed, unless one of an address with more is waiting for a request or its body, which is then closed instead. Each takes about 20 KB. Those of streams of flags are beside them (flags.max_streams). 0 is unlimited."`
	MaxPerAddr    int `koanf:"max_connections_per_address" range:"0..1000000" help:"Open connections of one address, a /64 of IPv6, trusted proxies apart; one more is answered 503 and closed. 0 is unlimited."`

	IdleTime time.Duration `koanf:"idle_time" range:"1s..24h" help:"How long a connection may be without a request before it is closed. Let it be longer than the load balancer in front keeps one that it does not use, which otherwise answers 502 where it sends a request meanwhile."`

	Slots        int           `koanf:"slots" range:"1..1000" help:"Queries that run in ClickHouse at the same time, and connections to it."`
	WebsiteSlots int           `koanf:"website_slots" range:"1..1000" help:"Queries of one website, or of one organization as a whole, that run at the same time; its others wait for their turn."`
	Queue        int           `koanf:"queue" range:"250..1000000" help:"Queries that may wait, of all websites together; a request that brings more is answered 503 with Retry-After. The websites and links of one organization may have half of them, and website_queue at least; beyond that it is answered 429."`
	WebsiteQueue int           `koanf:"website_queue" range:"250..1000000" help:"Queries of one website that may wait; a request that brings more is answered 429 with Retry-After. One request brings up to 250."`
	MaxTime      time.Duration `koanf:"max_time" range:"100ms..10m" help:"Longest time one query may run in ClickHouse; below query.deadline, which counts as well."`
	MaxMemory    int           `koanf:"max_memory" range:"16777216..1099511627776" help:"Bytes of memory that one query may use in ClickHouse."`
	MaxRows      int           `koanf:"max_rows" range:"1000000..1000000000000" help:"Rows that one query may read in ClickHouse."`
	MaxResult    int           `koanf:"max_result" range:"65536..1073741824" help:"Bytes that the result of one query may have; the results of a request may have twice as many together."`
	CacheMemory  int           `koanf:"cache_memory" range:"0..274877906944" help:"Bytes of results that are kept to answer the same question again while its data has not changed; 0 keeps none."`

	PublicURL string   `koanf:"public_url" form:"origin" empty:"ok" help:"Address under which callers reach the query host, for cookies, mails and discovery; empty means query.listen over http, if that is on loopback; beyond it there is no start without."`
	Export    Export   `koanf:"export"`
	Origins   []string `koanf:"origins" form:"origin" empty:"ok" help:"Your own origins, such as https://app.example.com, whose pages may call the query host with a signed-in person's cookie; comma-separated. Pages of query.public_url always may, other pages never."`
}

// Export bounds exports of raw events.
type Export struct {
	Max             int           `koanf:"max" range:"1..1000" help:"Exports of raw events that may run at the same time; one more is answered 429. Each takes up to 64 MiB."`
	PerOrganization int           `koanf:"max_per_organization" range:"1..1000" help:"The same of one organization."`
	Deadline        time.Duration `koanf:"deadline" range:"1s..24h" help:"Longest time one export may take before it is cut off; its cursor goes on from there."`
}

// Ingest configures the ingestion host.
type Ingest struct {
	Listen      string        `koanf:"listen" form:"listen" empty:"ok" help:"Address of the ingestion host, host:port; empty, with link.listen set, is an edge that only serves short links: it is ready without Kafka."`
	Deadline    time.Duration `koanf:"deadline" range:"100ms..1m" help:"Longest wait for Kafka to acknowledge a request's records; then 503, retryable."`
	MaxInFlight int           `koanf:"max_in_flight" range:"1..1000000" help:"Requests served at the same time, from when their body is there; one more is answered 503 with Retry-After, except GET /health."`
	MaxMemory   int           `koanf:"max_memory" range:"16777216..274877906944" help:"Bytes that requests in flight may take, as estimated before they do; beyond it they are answered 503 with Retry-After."`
	QueueTime   time.Duration `koanf:"queue_time" range:"0s..1m" help:"How long requests may wait for Kafka and the processor before new ones are answered 503 with Retry-After; below ingest.deadline. 0 does not look at it."`
	MaxConns    int           `koanf:"max_connections" range:"0..1000000" help:"Open connections; one more is answered 503 and closed, unless one of an address with more is waiting for a request or its body, which is then closed instead. Each takes about 20 KB, and 10 KB more while a body arrives on it or is thrown away, beside ingest.max_memory. 0 is unlimited."`
	MaxPerAddr  int           `koanf:"max_connections_per_address" range:"0..1000000" help:"Open connections of one address, a /64 of IPv6, trusted proxies apart; one more is answered 503 and closed. 0 is unlimited."`
	IdleTime    time.Duration `koanf:"idle_time" range:"1s..24h" help:"How long a connection may be without a request before it is closed. Let it be longer than the load balancer in front keeps one that it does not use, which otherwise answers 502 where it sends a request meanwhile."`
	MaxNames    int           `koanf:"max_names" range:"0..1000000" help:"Different names that the events of a website may have in a UTC day of receipt, as one edge counts them, and types that its errors may have: each is a row in every quarter of an hour of the rollups. What has one more is stored under the name (other), with its own beside it. 0 is unlimited."`
	ClientIDs   []string      `koanf:"client_id_headers" form:"header" help:"Headers in which a page may send the website's client id instead of in the query; the first one that is sent counts. Comma-separated."`
	PublicURL   string        `koanf:"public_url" form:"origin" empty:"ok" help:"Address under which callers reach the ingestion host, for snippets and discovery; empty means ingest.listen over http, if that is on loopback; beyond it neither host starts without."`
}

// Enrich configures what the ingestion host finds out about visitors.
type Enrich struct {
	GeoFile []string `koanf:"geo_file" form:"path" empty:"ok" help:"MaxMind-format files (.mmdb) of cities or countries, comma-separated, asked in this order; what none knows is asked of the countries that are built in. A file that changes is read again; each takes its size in memory."`
}

// Link configures the short-link host, which is a part of the ingestion edge.
type Link struct {
	Listen    string   `koanf:"listen" form:"listen" empty:"ok" help:"Address of the short-link host, host:port; empty turns it off, but in standalone mode, which listens on 127.0.0.1:8082. Its connections have the bounds of ingest.max_connections."`
	PublicURL string   `koanf:"public_url" form:"origin" empty:"ok" help:"Address under which visitors reach the short-link host, with which short links begin; empty means link.listen over http, if that is on loopback; beyond it the edge does not start without."`
	Schemes   []string `koanf:"schemes" form:"scheme" help:"Schemes that the address behind a short link may have, comma-separated; javascript, data, vbscript, file, blob, about and intent are never allowed."`
	MaxLinks  int      `koanf:"max_links" range:"1..100000000" help:"Short links that an organization may have; one more is answered 402."`

	CacheEntries     int `koanf:"cache_entries" range:"1000..100000000" help:"Links that an edge remembers, the newest first, at about 250 bytes each; others are asked for in the store each time they are opened."`
	MaxInFlight      int `koanf:"max_in_flight" range:"1..1000000" help:"Requests for short links served at the same time; one more is answered 503 with Retry-After, except GET /health."`
	MaxBufferedBytes int `koanf:"max_buffered_bytes" range:"1048576..274877906944" help:"Bytes of clicks that an edge keeps while Kafka does not take them; beyond it new ones are dropped and counted. No visitor waits for either."`
}

// Domains says how organizations prove that a domain for their short links is theirs.
type Domains struct {
	Resolver string `koanf:"resolver" form:"address" empty:"ok" help:"DNS resolver that is asked for the records that prove domains of short links, host:port; empty asks those of /etc/resolv.conf. It must be one that others cannot answer for: whoever does takes a domain over."`
}

// Proxy says which peers may tell for whom they speak.
type Proxy struct {
	Trusted []string `koanf:"trusted" form:"network" empty:"ok" help:"Addresses and CIDR ranges of the load balancers and reverse proxies in front of the hosts, comma-separated: only from these is proxy.header believed. Empty takes every caller's address from its connection."`
	Header  string   `koanf:"header" oneof:"x-forwarded-for forwarded" help:"The header to which every trusted proxy appends its peer's address, x-forwarded-for or forwarded (RFC 7239); the other one is never read, since a proxy passes on what callers write there."`
}

// Limits bounds how often callers may ask. Which routes each figure is for, and who
// counts as one caller, stands in package ratelimit.
type Limits struct {
	Enabled bool          `koanf:"enabled" help:"Limit what callers may ask for. false, which is told in the log, is for load tests."`
	Window  time.Duration `koanf:"window" range:"1s..1h" help:"The time within which requests are counted against the figures below."`
	Track   int           `koanf:"track" range:"1..1000000" help:"Requests of one API key, or of one address to one website, to POST /track per window."`
	Query   int           `koanf:"query" range:"1..1000000" help:"Requests of one API key or user to /v1/query per window."`
	Compile int           `koanf:"compile" range:"1..1000000" help:"Requests of one API key or user to /v1/query/compile per window."`
	Flags   int           `koanf:"flags" range:"1..1000000" help:"Requests of one API key to /public/v1/flags per window."`
	Export  int           `koanf:"export" range:"1..1000000" help:"Exports of raw events that one API key or user may begin per window."`
	Manage  int           `koanf:"manage" range:"1..1000000" help:"Requests of one API key or user to every other route of the query host per window."`

	Page       int `koanf:"page" range:"1..1000000" help:"The same to POST /, and again to POST /batch."`
	Vitals     int `koanf:"vitals" range:"1..1000000" help:"The same to POST /vitals."`
	Errors     int `koanf:"errors" range:"1..1000000" help:"The same to POST /errors."`
	Engagement int `koanf:"engagement" range:"1..1000000" help:"The same to POST /engagement."`
	Identify   int `koanf:"identify" range:"1..1000000" help:"The same to POST /identify."`
	Pixel      int `koanf:"pixel" range:"1..1000000" help:"The same to GET /px.jpg."`

	QueryAnonymous   int `koanf:"query_anonymous" range:"1..1000000" help:"Requests of one address without a credential to /v1/query per window."`
	CompileAnonymous int `koanf:"compile_anonymous" range:"1..1000000" help:"Requests of one address without a credential to /v1/query/compile per window."`
	FlagsAnonymous   int `koanf:"flags_anonymous" range:"1..1000000" help:"Requests of one address about one website to /public/v1/flags per window."`
	SignIn           int `koanf:"sign_in" range:"1..1000000" help:"Operations with a password or a mailed token from one address per window; wrong passwords are held back besides."`
	ManageAnonymous  int `koanf:"manage_anonymous" range:"1..1000000" help:"Requests of one address without a credential to the other limited routes of the query host per window."`

	Key         int `koanf:"key" range:"1..100000" help:"Requests of an API key whose own limit is enabled without a figure, to all routes of both hosts together, per window."`
	Concurrency int `koanf:"concurrency" range:"1..10000" help:"Requests of one API key that may be under way at the same time, on both hosts together."`
	IPv6Prefix  int `koanf:"ipv6_prefix" range:"32..128" help:"Leading bits of an IPv6 address that stand for one caller: who has an address usually has all of a /64."`
	Memory      int `koanf:"memory" range:"1048576..17179869184" help:"Bytes of counted requests held at most; beyond it callers who asked least recently are forgotten."`
}

// Quota bounds what organizations may send.
type Quota struct {
	Default int `koanf:"default" range:"0..1000000000000" help:"Events that an organization may have stored in a month (UTC) unless millrace orgs quota gives it a quota of its own; 0 is unlimited."`
}

// Billing says who decides about quotas instead.
type Billing struct {
	URL   string `koanf:"url" form:"endpoint" empty:"ok" help:"Service that is asked whether an organization may send events, instead of quotas being counted, such as https://billing.example.com/allowance; empty for none."`
	Token Secret `koanf:"token" form:"text" empty:"ok" help:"Sent to billing.url as a Bearer token; empty for none."`

	TokenFile string `koanf:"token_file" form:"path" empty:"ok" help:"File that holds the token, instead; read once, at the start."`

	Timeout time.Duration `koanf:"timeout" range:"50ms..10s" help:"Longest wait of a request for billing.url; then the last decision stands, for at most five minutes."`
}

// Admin configures the private listener for metrics, health and profiles.
type Admin struct {
	Listen string `koanf:"listen" form:"listen" empty:"ok" help:"Private address for /metrics, /livez, /readyz, /debug/pprof and, of a short-link host, /domains/allowed, host:port; empty turns it off."`
}

// Embedded configures the servers that standalone mode brings along.
type Embedded struct {
	Kafka      EmbeddedKafka      `koanf:"kafka"`
	ClickHouse EmbeddedClickHouse `koanf:"clickhouse"`
}

// EmbeddedKafka configures the embedded broker.
type EmbeddedKafka struct {
	Listen string `koanf:"listen" form:"listen" help:"Address of the embedded Kafka broker, host:port."`
}

// EmbeddedClickHouse configures the embedded ClickHouse.
type EmbeddedClickHouse struct {
	Listen  string                 `koanf:"listen" form:"loopback" help:"Native-protocol address of the embedded ClickHouse, host:port; loopback only."`
	HTTP    EmbeddedClickHouseHTTP `koanf:"http"`
	Binary  string                 `koanf:"binary" form:"path" empty:"ok" help:"A clickhouse binary to run instead of one found on PATH."`
	Library string                 `koanf:"library" form:"path" empty:"ok" help:"Path of libchdb.so, or of the folder that npm installed it into; empty searches the usual places."`
}

// EmbeddedClickHouseHTTP configures the embedded ClickHouse's HTTP port.
type EmbeddedClickHouseHTTP struct {
	Listen string `koanf:"listen" form:"loopback" help:"HTTP address of the embedded ClickHouse, host:port; loopback only."`
}

// Kafka configures the clients of the event topics.
type Kafka struct {
	Brokers          []string      `koanf:"brokers" form:"address" empty:"ok" help:"Kafka bootstrap addresses, host:port, comma-separated; empty in standalone mode means the embedded broker."`
	TopicPrefix      string        `koanf:"topic_prefix" form:"topic" empty:"ok" help:"Put before every topic name; empty for none."`
	Partitions       int           `koanf:"partitions" range:"0..10000" help:"Partitions of a topic that millrace creates; 0 means 64, and 2 in standalone mode."`
	Replication      int           `koanf:"replication" range:"0..9" help:"Replicas of a topic that millrace creates; 0 means 3, and 1 in standalone mode."`
	AllowWeakTopics  bool          `koanf:"allow_weak_topics" help:"Run on topics that may lose what was acknowledged, or count it twice, which is only warned of then; for development."`
	Linger           time.Duration `koanf:"linger" range:"0s..1s" help:"How long the edge's producer waits for more records before it sends a batch."`
	MaxBufferedBytes int           `koanf:"max_buffered_bytes" range:"4194304..17179869184" help:"Bytes of records the edge holds while brokers are slow; beyond it requests are answered 503."`
	SASL             KafkaSASL     `koanf:"sasl"`
	TLS              TLS           `koanf:"tls"`
}

// KafkaSASL says how clients of Kafka prove who they are.
type KafkaSASL struct {
	Mechanism string `koanf:"mechanism" oneof:"plain scram-sha-256 scram-sha-512" empty:"ok" help:"How to sign in at the brokers: plain, scram-sha-256 or scram-sha-512; empty for not at all."`
	User      string `koanf:"user" form:"text" empty:"ok" help:"Kafka user, with kafka.sasl.mechanism."`
	Password  Secret `koanf:"password" form:"text" empty:"ok" help:"Kafka password, with kafka.sasl.mechanism."`

	PasswordFile string `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the Kafka password, instead; read again for each new connection."`
}

// ClickHouse configures the clients of the analytics database.
type ClickHouse struct {
	Addr     []string `koanf:"addr" form:"address" empty:"ok" help:"ClickHouse native-protocol addresses, host:port, comma-separated: replicas of one cluster, or ways to one server; a process uses one of them and goes on with the next where that fails. Empty in standalone mode means the embedded server."`
	Database string   `koanf:"database" form:"identifier" help:"Database of the analytics tables."`
	User     string   `koanf:"user" form:"text" help:"ClickHouse user."`
	Password Secret   `koanf:"password" form:"text" empty:"ok" help:"ClickHouse password."`

	PasswordFile string `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the ClickHouse password, instead; read again for each new connection."`

	DialTimeout time.Duration `koanf:"dial_timeout" range:"100ms..1m" help:"Longest time to open a connection."`
	Cluster     string        `koanf:"cluster" form:"identifier" empty:"ok" help:"Cluster of one shard, as the servers' remote_servers names it, on which millrace migrate makes replicated tables; empty for a single server."`

	InsertQuorum int `koanf:"insert_quorum" range:"0..9" help:"Replicas of clickhouse.cluster that must hold an insert before it is acknowledged; 0 and 1 mean the one that took it. Replicated tables need 2."`

	AllowQuorumOfOne bool `koanf:"allow_quorum_of_one" help:"Let a sink store in replicated tables with an insert_quorum below 2: what one replica alone holds is lost with it."`

	TLS TLS `koanf:"tls"`
}

// Store configures the metadata store.
type Store struct {
	URL Secret `koanf:"url" form:"store" empty:"ok" help:"Metadata store: sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE; empty in standalone mode means a SQLite file in the data folder."`

	URLFile      string        `koanf:"url_file" form:"path" empty:"ok" help:"File that holds the metadata store's URL, instead; read again for each new connection."`
	Password     Secret        `koanf:"password" form:"text" empty:"ok" help:"PostgreSQL password, for a store.url without one."`
	PasswordFile string        `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the PostgreSQL password, instead; read again for each new connection."`
	MaxOpen      int           `koanf:"max_open" range:"1..1000" help:"Connections of one process to PostgreSQL at most, or readers of SQLite."`
	MaxIdle      int           `koanf:"max_idle" range:"0..1000" help:"Connections that are kept while nobody uses them; never more than store.max_open."`
	Lifetime     time.Duration `koanf:"lifetime" range:"0s..24h" help:"Age at which a connection to PostgreSQL is replaced, so that a failover or a new password is found; 0 never replaces one."`
	IdleTime     time.Duration `koanf:"idle_time" range:"0s..24h" help:"How long a connection to PostgreSQL is kept unused; 0 keeps it."`
	TLS          TLS           `koanf:"tls"`
}

// Redis configures the server through which several processes limit callers
// together.
type Redis struct {
	URL     Secret        `koanf:"url" form:"redis" empty:"ok" help:"Redis or Valkey in which all processes count requests together, redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss: for TLS; empty means that each process counts by itself."`
	Timeout time.Duration `koanf:"timeout" range:"1ms..5s" help:"Longest wait for one answer of Redis; then the process decides by itself."`

	URLFile      string        `koanf:"url_file" form:"path" empty:"ok" help:"File that holds the URL of Redis, instead; its address is read at the start, user and password for each new connection."`
	Password     Secret        `koanf:"password" form:"text" empty:"ok" help:"Redis password, for a redis.url without one."`
	PasswordFile string        `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the Redis password, instead; read again for each new connection."`
	PoolSize     int           `koanf:"pool_size" range:"1..10000" help:"Connections of one process to Redis at most: calls under way at the same time."`
	IdleTime     time.Duration `koanf:"idle_time" range:"1s..24h" help:"How long a connection to Redis is kept unused."`
	TLS          TLS           `koanf:"tls"`
}

// Sink configures the consumer that fills ClickHouse.
type Sink struct {
	Group         string        `koanf:"group" form:"text" help:"Kafka consumer group."`
	InstanceID    string        `koanf:"instance_id" form:"text" empty:"ok" help:"Static group member id, such as a StatefulSet's pod name; empty for a dynamic member."`
	MaxRows       int           `koanf:"max_rows" range:"1..10000000" help:"Rows after which an open range is inserted."`
	MaxBytes      int           `koanf:"max_bytes" range:"1048576..1073741824" help:"Record bytes after which an open range is inserted."`
	MaxWait       time.Duration `koanf:"max_wait" range:"10ms..1m" help:"Longest time a record waits in an open range before it is inserted, unless sink.max_inserts makes it longer."`
	MaxInserts    int           `koanf:"max_inserts" range:"0..10000" help:"Inserts a second of a lane of a process beyond which records wait longer than sink.max_wait, up to 30 s: each makes a part in every table, and servers reject inserts when merges stay behind. 0 never makes them wait longer."`
	InsertTimeout time.Duration `koanf:"insert_timeout" range:"1s..5m" help:"Deadline of one insert; below half of the rebalance timeout."`
	Session       time.Duration `koanf:"session_timeout" range:"1s..15m" help:"Silence after which the group gives a member's partitions to others."`
	Rebalance     time.Duration `koanf:"rebalance_timeout" range:"6s..15m" help:"How long the group waits for members during a rebalance."`
	MaxMemory     int           `koanf:"max_memory" range:"8388608..1099511627776" help:"Bytes of records held at most by the lane live, as they were read or in blocks; fetching stops before that. The lane backfill has a quarter beside that, web an eighth, clicks and exposures a sixteenth each."`
	Connections   int           `koanf:"connections" range:"1..256" help:"Inserts that run at the same time, as far as their blocks fit into three fourteenths of sink.max_memory."`
	Window        time.Duration `koanf:"window" range:"1m..24h" help:"How long, in record time, an eventId is remembered by the sink."`
	WindowKeys    int           `koanf:"window_keys" range:"1000..100000000" help:"Most eventIds remembered per partition."`
	WindowMemory  int           `koanf:"window_memory" range:"1048576..1099511627776" help:"Bytes of eventIds remembered at most, all partitions of the lane live together, at 40 bytes each; the lanes backfill and web have a quarter beside that each, clicks and exposures an eighth."`
	DrainBudget   time.Duration `koanf:"drain_budget" range:"1s..10m" help:"Time to insert and commit what is in hand at shutdown."`

	TombstoneAge time.Duration `koanf:"tombstone_age" range:"10ms..1m" help:"Age at which the list of what was erased is read again before anything more is stored. The query host waits for it and for sink.insert_timeout before it deletes, so it needs the same settings."`

	DeadLetterLimit float64  `koanf:"dead_letter_limit" range:"0..1" help:"Share of a partition's records that may become dead letters for a minute; beyond it the partition is halted. 1 never halts it."`
	Lanes           []string `koanf:"lanes" form:"lane" help:"What this process stores: any of live, backfill, web, clicks and exposures, comma-separated; none stores nothing, such as while rollups are rebuilt beside standalone mode."`
	Backfill        Backfill `koanf:"backfill"`

	ReconcileInterval time.Duration `koanf:"reconcile_interval" range:"0s..1h" help:"How often the ledger and the rollups are checked; 0 never checks them."`
	ReconcilePairs    int           `koanf:"reconcile_pairs" range:"1..100000" help:"Days of owners whose rollups are compared with the events in one check at most; the others wait."`
}

// Backfill bounds what events.backfill.v1 may use of the analytics database.
type Backfill struct {
	Rate     int `koanf:"rate" range:"1..100000000" help:"Records a second that one sink stores of the backfill topic at most."`
	MaxParts int `koanf:"max_parts" range:"10..3000" help:"Parts in one partition of a table at which backfill waits for merges."`
}

// Key configures API keys.
type Key struct {
	Prefix string `koanf:"prefix" form:"prefix" help:"Prefix of API keys, without the underscore."`
}

// Lookup configures the cached reads of the metadata store.
type Lookup struct {
	Fresh   time.Duration `koanf:"fresh" range:"10ms..5s" help:"Age at which a cached key or website is read again while no changes arrive through the topic control.v1."`
	Trusted time.Duration `koanf:"trusted" range:"10ms..10m" help:"Age at which it is read again while changes arrive, so that a change is known at once; never below lookup.fresh or above lookup.stale."`
	Stale   time.Duration `koanf:"stale" range:"1s..10m" help:"Age up to which a cached key or website is still served while the metadata store is down."`
}

// Flags configures the feature flags that a query host answers.
type Flags struct {
	Memory     int           `koanf:"memory" range:"1048576..274877906944" help:"Bytes that organizations' flags may take in the memory of a query host; beyond it those that were not asked for lately are read from the metadata store when somebody asks."`
	Stale      time.Duration `koanf:"stale" range:"1m..168h" help:"Age up to which flags and client ids that are held still answer while the metadata store is down."`
	MaxStreams int           `koanf:"max_streams" range:"1..1000000" help:"Open streams of changes of flags; one more is answered 503. Their connections are beside those of query.max_connections, and each takes about 40 KB and a file."`
}

// Session configures signing in.
type Session struct {
	SignUp   string        `koanf:"sign_up" oneof:"open invite off" help:"Who may make an account: anybody (open), who has an invitation (invite), or nobody (off), for whom millrace users create makes one."`
	Idle     time.Duration `koanf:"idle" range:"10m..2160h" help:"How long a session lasts without being used."`
	Absolute time.Duration `koanf:"absolute" range:"1h..2400h" help:"How long a session lasts at most."`
}

// Mail configures the mails that people get.
type Mail struct {
	SMTP SMTP   `koanf:"smtp"`
	From string `koanf:"from" form:"mailbox" empty:"ok" help:"Sender of mails: an address, with a name or without, such as Millrace <millrace@example.com>; needed with mail.smtp.addr."`
}

// SMTP says which server takes the mails.
type SMTP struct {
	Addr     string `koanf:"addr" form:"address" empty:"ok" help:"Mail server for invitations, new passwords and notices, host:port; empty sends no mail: then inviters are shown the invitation, and millrace users reset-password permits a new password."`
	TLS      string `koanf:"tls" oneof:"starttls tls none" help:"How the connection to the mail server is encrypted: starttls demands it after connecting, tls from the beginning, none not at all."`
	User     string `koanf:"user" form:"text" empty:"ok" help:"User at the mail server, with mail.smtp.password; empty for not signing in there."`
	Password Secret `koanf:"password" form:"text" empty:"ok" help:"Password at the mail server, with mail.smtp.user."`

	PasswordFile string `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the password at the mail server, instead; read once, at the start."`
}

// Log configures the log.
type Log struct {
	Level  string `koanf:"level" oneof:"debug info warn error" help:"Least severe level that is logged: debug, info, warn or error."`
	Format string `koanf:"format" oneof:"json text" help:"json or text."`
	Access bool   `koanf:"access" help:"Log one line per request."`
}

// Trace configures OpenTelemetry traces.
type Trace struct {
	Endpoint string  `koanf:"endpoint" form:"endpoint" empty:"ok" help:"OTLP/HTTP endpoint for traces, such as http://127.0.0.1:4318; empty turns traces off."`
	Ratio    float64 `koanf:"ratio" range:"0..1" help:"Share of requests that are traced, 0 to 1, besides those for which a trusted proxy decides by its traceparent."`
}

// Probe sends an event through everything, again and again.
type Probe struct {
	Interval  time.Duration `koanf:"interval" range:"0s..1h" help:"How often the query host sends an event to the ingestion host and waits for it to be counted, on a website of its own; 0 never does."`
	IngestURL string        `koanf:"ingest_url" form:"origin" empty:"ok" help:"Address of the ingestion host to which the probe's events are sent; empty means ingest.public_url, or ingest.listen over http."`
	QueryURL  string        `koanf:"query_url" form:"origin" empty:"ok" help:"Address of the query host that is asked for them; empty means query.public_url, or query.listen over http."`
}

// Shutdown bounds a stop.
type Shutdown struct {
	Delay time.Duration `koanf:"delay" range:"0s..5m" help:"How long a daemon stays up, not ready any more, before it stops accepting."`
	Grace time.Duration `koanf:"grace" range:"1s..15m" help:"Longest time for everything after the delay."`
}
