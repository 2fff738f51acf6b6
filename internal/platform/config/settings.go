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
	MCP        MCP        `koanf:"mcp"`
	Security   Security   `koanf:"security"`
	Session    Session    `koanf:"session"`
	Mail       Mail       `koanf:"mail"`
	Log        Log        `koanf:"log"`
	Trace      Trace      `koanf:"trace"`
	Probe      Probe      `koanf:"probe"`
	Shutdown   Shutdown   `koanf:"shutdown"`
}

// Data says where standalone keeps its files.
type Data struct {
	Dir string `koanf:"dir" form:"path" help:"Folder of standalone mode. It holds the files of the embedded servers, the SQLite database and dev.env."`
}

// Query configures the query and management host.
type Query struct {
	Listen   string        `koanf:"listen" form:"listen" help:"Address of the query host, host:port."`
	Deadline time.Duration `koanf:"deadline" range:"100ms..10m" help:"Longest time of one request. The host answers 503 beyond it."`

	MaxInFlight   int `koanf:"max_in_flight" range:"1..1000000" help:"Requests served at the same time, counted once their body has arrived. The host answers 503 with Retry-After beyond this number; GET /health is exempt."`
	MaxBodyMemory int `koanf:"max_body_memory" range:"16777216..274877906944" help:"Bytes held by requests. Bodies, with what is parsed of them, may use half. Query results, and responses of more than 64 KiB until the client has them, may use the other half. One address, key or user may use half of each. The host answers 503 with Retry-After beyond it."`
	MaxConns      int `koanf:"max_connections" range:"0..1000000" help:"Open connections, about 20 KB each; flag streams count against flags.max_streams instead. 0 is unlimited. At the limit the host closes a connection that waits for a request or its body, if another address has more connections. Otherwise it answers 503 and closes the new connection."`
	MaxPerAddr    int `koanf:"max_connections_per_address" range:"0..1000000" help:"Open connections of one address; an IPv6 address counts as its /64, and trusted proxies are exempt. 0 is unlimited. The host answers 503 and closes the connection beyond this number."`

	IdleTime time.Duration `koanf:"idle_time" range:"1s..24h" help:"Time after which the host closes a connection without a request. Set it above the idle timeout of the load balancer in front, or the load balancer answers some requests with 502."`

	Slots        int           `koanf:"slots" range:"1..1000" help:"Queries that run in ClickHouse at the same time, each on its own connection. Further queries wait."`
	WebsiteSlots int           `koanf:"website_slots" range:"1..1000" help:"Queries that run at the same time for one website, or for one organization as a whole. Further queries wait for their turn."`
	Queue        int           `koanf:"queue" range:"250..1000000" help:"Queries that may wait, over all websites. The host returns 503 with Retry-After for a request that exceeds it. All websites and links of one organization together may use half of it, or query.website_queue if that is more. Beyond their share, the host returns 429."`
	WebsiteQueue int           `koanf:"website_queue" range:"250..1000000" help:"Queries of one website that may wait; one request brings up to 250. The host answers 429 with Retry-After to a request that exceeds it."`
	MaxTime      time.Duration `koanf:"max_time" range:"100ms..10m" help:"Longest time of one query in ClickHouse. Keep it below query.deadline, which also applies."`
	MaxMemory    int           `koanf:"max_memory" range:"16777216..1099511627776" help:"Bytes of memory that one query may use in ClickHouse. A query that needs more fails."`
	MaxRows      int           `koanf:"max_rows" range:"1000000..1000000000000" help:"Rows that one query may read in ClickHouse. A query that reads more fails."`
	MaxResult    int           `koanf:"max_result" range:"65536..1073741824" help:"Bytes in the result of one query. A larger result is an error. The results of one request may have twice as many together."`
	CacheMemory  int           `koanf:"cache_memory" range:"0..274877906944" help:"Bytes of cached query results. A cached result serves the same query until its data changes. 0 turns the cache off."`

	PublicURL string   `koanf:"public_url" form:"origin" empty:"ok" help:"Public URL of the query host, for cookies, mails and discovery. Required unless query.listen is a loopback address; then empty means query.listen over http."`
	Export    Export   `koanf:"export"`
	Origins   []string `koanf:"origins" form:"origin" empty:"ok" help:"Origins whose pages may call the query host with a user's session cookie, such as https://app.example.com; comma-separated. Pages of query.public_url are always allowed, pages of other origins never."`
}

// Export bounds exports of raw events.
type Export struct {
	Max             int           `koanf:"max" range:"1..1000" help:"Exports of raw events that run at the same time, up to 64 MiB of memory each. The host answers 429 beyond this number."`
	PerOrganization int           `koanf:"max_per_organization" range:"1..1000" help:"Exports of raw events that run at the same time for one organization. The host answers 429 beyond this number."`
	Deadline        time.Duration `koanf:"deadline" range:"1s..24h" help:"Longest time of one export. The host ends it there; the client continues from its cursor."`
}

// Ingest configures the ingestion host.
type Ingest struct {
	Listen      string        `koanf:"listen" form:"listen" empty:"ok" help:"Address of the ingestion host, host:port. Empty, with link.listen set, makes an edge that serves short links only and is ready without Kafka."`
	Deadline    time.Duration `koanf:"deadline" range:"100ms..1m" help:"Longest wait for Kafka to acknowledge the records of a request. The host answers 503, retryable, beyond it."`
	MaxInFlight int           `koanf:"max_in_flight" range:"1..1000000" help:"Requests served at the same time, counted once their body has arrived. The host answers 503 with Retry-After beyond this number; GET /health is exempt."`
	MaxMemory   int           `koanf:"max_memory" range:"16777216..274877906944" help:"Limit of the estimated memory, in bytes, of all requests in flight. The host estimates each request before it serves it. Beyond this limit, it answers 503 with Retry-After."`
	QueueTime   time.Duration `koanf:"queue_time" range:"0s..1m" help:"Longest time that requests may wait for Kafka and the processor. Beyond it the host rejects new requests with 503 and Retry-After. Keep it below ingest.deadline. 0 turns the check off."`
	MaxConns    int           `koanf:"max_connections" range:"0..1000000" help:"Open connections; 0 is unlimited. Each takes about 20 KB, and 10 KB more while a body arrives or is discarded, in addition to ingest.max_memory. At the limit the host closes a connection that waits for a request or its body, if another address has more connections. Otherwise it answers 503 and closes the new connection."`
	MaxPerAddr  int           `koanf:"max_connections_per_address" range:"0..1000000" help:"Open connections of one address; an IPv6 address counts as its /64, and trusted proxies are exempt. 0 is unlimited. The host answers 503 and closes the connection beyond this number."`
	IdleTime    time.Duration `koanf:"idle_time" range:"1s..24h" help:"Time after which the host closes a connection without a request. Set it above the idle timeout of the load balancer in front, or the load balancer answers some requests with 502."`
	MaxNames    int           `koanf:"max_names" range:"0..1000000" help:"Distinct event names, and distinct error types, of one website in a UTC day of receipt, counted by each edge. 0 is unlimited. Beyond the limit, an event with a new name is stored under the name (other), and its own name in original_name. Each name is a row in every quarter of an hour of the rollups."`
	ClientIDs   []string      `koanf:"client_id_headers" form:"header" help:"Headers in which a page may send the website's client id instead of in the query string; comma-separated. The first header that is present counts."`
	PublicURL   string        `koanf:"public_url" form:"origin" empty:"ok" help:"Public URL of the ingestion host, for snippets and discovery. The ingestion and query hosts require it unless they listen on a loopback address; then empty means ingest.listen over http."`
}

// Enrich configures what the ingestion host finds out about visitors.
type Enrich struct {
	GeoFile []string `koanf:"geo_file" form:"path" empty:"ok" help:"MaxMind-format files (.mmdb) of cities or countries, comma-separated, searched in this order. The built-in table of countries covers addresses that no file knows. A changed file is read again; each file is held in memory."`
}

// Link configures the short-link host, which is a part of the ingestion edge.
type Link struct {
	Listen    string   `koanf:"listen" form:"listen" empty:"ok" help:"Address of the short-link host, host:port. Empty turns the host off, except in standalone mode, where it listens on 127.0.0.1:8082. The connection limits of ingest apply to it."`
	PublicURL string   `koanf:"public_url" form:"origin" empty:"ok" help:"Public URL of the short-link host; short links begin with it. Required unless link.listen is a loopback address; then empty means link.listen over http."`
	Schemes   []string `koanf:"schemes" form:"scheme" help:"URL schemes allowed for the destination of a short link; comma-separated. javascript, data, vbscript, file, blob, about and intent are never allowed."`
	MaxLinks  int      `koanf:"max_links" range:"1..100000000" help:"Short links of one organization. The host answers 402 beyond this number."`

	CacheEntries     int `koanf:"cache_entries" range:"1000..100000000" help:"Links that an edge caches, newest first, at about 250 bytes each. The edge reads other links from the metadata store each time they are opened."`
	MaxInFlight      int `koanf:"max_in_flight" range:"1..1000000" help:"Requests for short links served at the same time. The host answers 503 with Retry-After beyond this number; GET /health is exempt."`
	MaxBufferedBytes int `koanf:"max_buffered_bytes" range:"1048576..274877906944" help:"Bytes of clicks that an edge buffers until Kafka acknowledges them. Beyond it the edge drops and counts new clicks. Redirects never wait for clicks."`
}

// Domains says how organizations prove that a domain for their short links is theirs.
type Domains struct {
	Resolver string `koanf:"resolver" form:"address" empty:"ok" help:"DNS resolver that reads the ownership records of short-link domains, host:port. Empty means the resolvers of /etc/resolv.conf. Use a resolver that nobody can spoof: a forged answer gives a domain to an attacker."`
}

// Proxy says which peers may tell for whom they speak.
type Proxy struct {
	Trusted []string `koanf:"trusted" form:"network" empty:"ok" help:"Addresses and CIDR ranges of the load balancers and reverse proxies in front of the hosts; comma-separated. The hosts read proxy.header from these peers only. Empty means that the connection gives the caller's address."`
	Header  string   `koanf:"header" oneof:"x-forwarded-for forwarded" help:"Header to which every trusted proxy appends the address of its peer: x-forwarded-for or forwarded (RFC 7239). The other header is never read, because proxies pass on the values that callers send in it."`
}

// MCP configures the endpoints for AI clients.
type MCP struct {
	Origins []string `koanf:"origins" form:"origin" empty:"ok" help:"Origins whose pages may call the MCP endpoints with an API key, such as https://inspector.example.com; comma-separated. Pages of the host's own public URL are always allowed. The host answers 403 to pages of other origins."`
}

// Limits bounds how often callers may ask. Which routes each figure is for, and who
// counts as one caller, stands in package ratelimit.
type Limits struct {
	Enabled bool          `koanf:"enabled" help:"Apply the rate limits. false turns them off, for load tests; the daemon logs it."`
	Window  time.Duration `koanf:"window" range:"1s..1h" help:"Sliding window in which requests count against the limits below. Requests beyond a limit are answered 429."`
	Track   int           `koanf:"track" range:"1..1000000" help:"Requests to POST /track per window, for one API key, or for one address and website."`
	Query   int           `koanf:"query" range:"1..1000000" help:"Requests to /v1/query per window, for one API key or user."`
	Compile int           `koanf:"compile" range:"1..1000000" help:"Requests to /v1/query/compile per window, for one API key or user."`
	Flags   int           `koanf:"flags" range:"1..1000000" help:"Requests to /public/v1/flags per window, for one API key."`
	Export  int           `koanf:"export" range:"1..1000000" help:"Exports of raw events that one API key or user may start per window."`
	MCP     int           `koanf:"mcp" range:"1..1000000" help:"Requests to the MCP endpoints of both hosts per window, for one API key. Each class of tools has a stricter limit."`
	Manage  int           `koanf:"manage" range:"1..1000000" help:"Requests per window to the routes of the query host that have no limit of their own, for one API key or user."`

	Page       int `koanf:"page" range:"1..1000000" help:"Requests to POST / per window, for one API key, or for one address and website. POST /batch has the same limit, counted separately."`
	Vitals     int `koanf:"vitals" range:"1..1000000" help:"Requests to POST /vitals per window, for one API key, or for one address and website."`
	Errors     int `koanf:"errors" range:"1..1000000" help:"Requests to POST /errors per window, for one API key, or for one address and website."`
	Engagement int `koanf:"engagement" range:"1..1000000" help:"Requests to POST /engagement per window, for one API key, or for one address and website."`
	Identify   int `koanf:"identify" range:"1..1000000" help:"Requests to POST /identify per window, for one API key, or for one address and website."`
	Pixel      int `koanf:"pixel" range:"1..1000000" help:"Requests to GET /px.jpg per window, for one API key, or for one address and website."`

	QueryAnonymous   int `koanf:"query_anonymous" range:"1..1000000" help:"Requests to /v1/query per window, for one address without a credential."`
	CompileAnonymous int `koanf:"compile_anonymous" range:"1..1000000" help:"Requests to /v1/query/compile per window, for one address without a credential."`
	FlagsAnonymous   int `koanf:"flags_anonymous" range:"1..1000000" help:"Requests to /public/v1/flags per window, for one address and website."`
	SignIn           int `koanf:"sign_in" range:"1..1000000" help:"Operations with a password or a mailed token per window, for one address. Attempts with wrong passwords have a stricter limit of their own."`
	ManageAnonymous  int `koanf:"manage_anonymous" range:"1..1000000" help:"Requests per window to the routes of the query host that have no limit of their own, for one address without a credential."`

	Key         int `koanf:"key" range:"1..100000" help:"Requests per window to all routes of both hosts together, for an API key whose own limit is enabled without a figure."`
	Concurrency int `koanf:"concurrency" range:"1..10000" help:"Requests of one API key in flight at the same time, on both hosts together."`
	IPv6Prefix  int `koanf:"ipv6_prefix" range:"32..128" help:"Leading bits of an IPv6 address that identify one caller. A network usually assigns a whole /64 to one subscriber."`
	Memory      int `koanf:"memory" range:"1048576..17179869184" help:"Bytes for the counts of requests. Beyond it the host forgets the callers whose last request is oldest, and their counts start again."`
}

// Quota bounds what organizations may send.
type Quota struct {
	Default int `koanf:"default" range:"0..1000000000000" help:"Events that one organization may store in a month (UTC). millrace orgs quota sets the quota of one organization. 0 is unlimited."`
}

// Billing says who decides about quotas instead.
type Billing struct {
	URL   string `koanf:"url" form:"endpoint" empty:"ok" help:"Service that decides whether an organization may send events, such as https://billing.example.com/allowance. It replaces the counting of quotas. Empty means that quotas are counted."`
	Token Secret `koanf:"token" form:"text" empty:"ok" help:"Bearer token for billing.url. Empty sends none."`

	TokenFile string `koanf:"token_file" form:"path" empty:"ok" help:"File that holds the billing token; an alternative to billing.token. It is read once, at the start."`

	Timeout time.Duration `koanf:"timeout" range:"50ms..10s" help:"Longest wait of a request for billing.url. Beyond it the last decision applies, for up to five minutes; then events are answered 503."`
}

// Admin configures the private listener for metrics, health and profiles.
type Admin struct {
	Listen string `koanf:"listen" form:"listen" empty:"ok" help:"Private address, host:port, for /metrics, /livez, /readyz and /debug/pprof; short-link hosts also serve /domains/allowed there. Empty turns the listener off."`
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
	Listen  string                 `koanf:"listen" form:"loopback" help:"Native-protocol address of the embedded ClickHouse, host:port. It must be a loopback address."`
	HTTP    EmbeddedClickHouseHTTP `koanf:"http"`
	Binary  string                 `koanf:"binary" form:"path" empty:"ok" help:"Path of a clickhouse binary. Empty searches PATH."`
	Library string                 `koanf:"library" form:"path" empty:"ok" help:"Path of libchdb.so, or of the folder into which npm installed it. Empty searches the usual places."`
}

// EmbeddedClickHouseHTTP configures the embedded ClickHouse's HTTP port.
type EmbeddedClickHouseHTTP struct {
	Listen string `koanf:"listen" form:"loopback" help:"HTTP address of the embedded ClickHouse, host:port. It must be a loopback address."`
}

// Kafka configures the clients of the event topics.
type Kafka struct {
	Brokers          []string      `koanf:"brokers" form:"address" empty:"ok" help:"Kafka bootstrap addresses, host:port, comma-separated. If empty, standalone mode uses the embedded broker. The separate daemons require an address."`
	TopicPrefix      string        `koanf:"topic_prefix" form:"topic" empty:"ok" help:"Prefix of every topic name. Empty adds none."`
	Partitions       int           `koanf:"partitions" range:"0..10000" help:"Partitions of the topics that millrace creates. 0 means 64, and 2 in standalone mode."`
	Replication      int           `koanf:"replication" range:"0..9" help:"Replicas of the topics that millrace creates. 0 means 3, and 1 in standalone mode."`
	AllowWeakTopics  bool          `koanf:"allow_weak_topics" help:"Run on topics whose settings can lose acknowledged records or count them twice, for development. The daemon then logs a warning; by default it is not ready."`
	Linger           time.Duration `koanf:"linger" range:"0s..1s" help:"Time that the edge's producer waits for more records before it sends a batch. 0 sends at once."`
	MaxBufferedBytes int           `koanf:"max_buffered_bytes" range:"4194304..17179869184" help:"Most bytes of records that the edge buffers until brokers acknowledge them. The edge answers 503 beyond this limit."`
	SASL             KafkaSASL     `koanf:"sasl"`
	TLS              TLS           `koanf:"tls"`
}

// KafkaSASL says how clients of Kafka prove who they are.
type KafkaSASL struct {
	Mechanism string `koanf:"mechanism" oneof:"plain scram-sha-256 scram-sha-512" empty:"ok" help:"SASL mechanism: plain, scram-sha-256 or scram-sha-512. Empty connects without SASL."`
	User      string `koanf:"user" form:"text" empty:"ok" help:"Kafka user. Required with kafka.sasl.mechanism."`
	Password  Secret `koanf:"password" form:"text" empty:"ok" help:"Kafka password. Required with kafka.sasl.mechanism, unless kafka.sasl.password_file is set."`

	PasswordFile string `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the Kafka password; an alternative to kafka.sasl.password. It is read for each new connection."`
}

// ClickHouse configures the clients of the analytics database.
type ClickHouse struct {
	Addr     []string `koanf:"addr" form:"address" empty:"ok" help:"ClickHouse native-protocol addresses, host:port, comma-separated: replicas of one cluster, or several paths to one server. A process uses one address and fails over to the next. If empty, standalone mode uses the embedded server. The separate daemons require an address."`
	Database string   `koanf:"database" form:"identifier" help:"Database of the analytics tables."`
	User     string   `koanf:"user" form:"text" help:"ClickHouse user."`
	Password Secret   `koanf:"password" form:"text" empty:"ok" help:"ClickHouse password."`

	PasswordFile string `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the ClickHouse password; an alternative to clickhouse.password. It is read for each new connection."`

	DialTimeout time.Duration `koanf:"dial_timeout" range:"100ms..1m" help:"Longest time to open a connection."`
	Cluster     string        `koanf:"cluster" form:"identifier" empty:"ok" help:"Cluster of one shard, named as in the servers' remote_servers. millrace migrate creates replicated tables on it. Empty means a single server."`

	InsertQuorum int `koanf:"insert_quorum" range:"0..9" help:"Replicas of clickhouse.cluster that must store an insert before it is acknowledged. 0 and 1 mean the replica that receives it. Replicated tables need 2."`

	AllowQuorumOfOne bool `koanf:"allow_quorum_of_one" help:"Let a sink write to replicated tables with an insert_quorum below 2. If a replica is lost, the rows that no other replica has copied are lost too."`

	TLS TLS `koanf:"tls"`
}

// Store configures the metadata store.
type Store struct {
	URL Secret `koanf:"url" form:"store" empty:"ok" help:"URL of the metadata store: sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE. If empty, standalone mode uses a SQLite file in data.dir. The separate daemons require a URL."`

	URLFile      string        `koanf:"url_file" form:"path" empty:"ok" help:"File that holds the URL of the metadata store; an alternative to store.url. It is read for each new connection."`
	Password     Secret        `koanf:"password" form:"text" empty:"ok" help:"PostgreSQL password, for a store.url without one."`
	PasswordFile string        `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the PostgreSQL password; an alternative to store.password. It is read for each new connection."`
	MaxOpen      int           `koanf:"max_open" range:"1..1000" help:"Connections of one process to PostgreSQL, or readers of SQLite. Further statements wait."`
	MaxIdle      int           `koanf:"max_idle" range:"0..1000" help:"Idle connections that a process keeps open, at most store.max_open."`
	Lifetime     time.Duration `koanf:"lifetime" range:"0s..24h" help:"Age at which a connection to PostgreSQL is replaced, so that the process finds a failover or a new password. 0 never replaces one."`
	IdleTime     time.Duration `koanf:"idle_time" range:"0s..24h" help:"Time after which an idle connection to PostgreSQL is closed. 0 never closes one."`
	TLS          TLS           `koanf:"tls"`
}

// Redis configures the server through which several processes limit callers
// together.
type Redis struct {
	URL     Secret        `koanf:"url" form:"redis" empty:"ok" help:"URL of the Redis or Valkey in which all processes count requests together, redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss: for TLS. Empty means that each process counts on its own."`
	Timeout time.Duration `koanf:"timeout" range:"1ms..5s" help:"Longest wait for one response of Redis. Beyond it the process decides on its own."`

	URLFile      string        `koanf:"url_file" form:"path" empty:"ok" help:"File that holds the URL of Redis; an alternative to redis.url. The process reads the address once, at its start, and the user and password for each new connection."`
	Password     Secret        `koanf:"password" form:"text" empty:"ok" help:"Redis password, for a redis.url without one."`
	PasswordFile string        `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the Redis password; an alternative to redis.password. It is read for each new connection."`
	PoolSize     int           `koanf:"pool_size" range:"1..10000" help:"Connections of one process to Redis, and so calls in flight at the same time."`
	IdleTime     time.Duration `koanf:"idle_time" range:"1s..24h" help:"Time after which an idle connection to Redis is closed."`
	TLS          TLS           `koanf:"tls"`
}

// Sink configures the consumer that fills ClickHouse.
type Sink struct {
	Group         string        `koanf:"group" form:"text" help:"Kafka consumer group. The lanes other than live add a suffix to it."`
	InstanceID    string        `koanf:"instance_id" form:"text" empty:"ok" help:"Static group member id, such as the pod name of a StatefulSet. Empty means a dynamic member."`
	MaxRows       int           `koanf:"max_rows" range:"1..10000000" help:"Rows of a range, the consecutive records of a partition that the sink inserts together. The sink inserts a range once it has this many rows."`
	MaxBytes      int           `koanf:"max_bytes" range:"1048576..1073741824" help:"Bytes of the records of a range. The sink inserts a range once it has this many bytes."`
	MaxWait       time.Duration `koanf:"max_wait" range:"10ms..1m" help:"Longest time that a record waits in a range before the sink inserts it. sink.max_inserts may lengthen it."`
	MaxInserts    int           `koanf:"max_inserts" range:"0..10000" help:"Inserts per second of one lane of a process. Beyond it records wait longer than sink.max_wait, up to 30 s, because ClickHouse rejects inserts when merges fall behind. 0 never lengthens the wait."`
	InsertTimeout time.Duration `koanf:"insert_timeout" range:"1s..5m" help:"Deadline of one insert. It must be below half of sink.rebalance_timeout."`
	Session       time.Duration `koanf:"session_timeout" range:"1s..15m" help:"Time without a heartbeat after which the group reassigns the partitions of a member. It must not exceed sink.rebalance_timeout."`
	Rebalance     time.Duration `koanf:"rebalance_timeout" range:"6s..15m" help:"Time that the group waits for its members during a rebalance."`
	MaxMemory     int           `koanf:"max_memory" range:"8388608..1099511627776" help:"Bytes of records that the lane live holds, as read or in blocks; it stops fetching before this limit. The lane backfill may use a quarter in addition, web an eighth, clicks and exposures a sixteenth each."`
	Connections   int           `koanf:"connections" range:"1..256" help:"Inserts that run at the same time, if their blocks fit into three fourteenths of sink.max_memory."`
	Window        time.Duration `koanf:"window" range:"1m..24h" help:"Time, by the receive time of records, for which the sink remembers an event id to recognize duplicates."`
	WindowKeys    int           `koanf:"window_keys" range:"1000..100000000" help:"Event ids remembered per partition. Beyond it the sink forgets the oldest ones early."`
	WindowMemory  int           `koanf:"window_memory" range:"1048576..1099511627776" help:"Bytes of event ids remembered by the lane live over all partitions, at 40 bytes each. The lanes backfill and web may use a quarter in addition each, clicks and exposures an eighth."`
	DrainBudget   time.Duration `koanf:"drain_budget" range:"1s..10m" help:"Time to insert and commit the records in hand at shutdown. It must not exceed shutdown.grace."`

	TombstoneAge time.Duration `koanf:"tombstone_age" range:"10ms..1m" help:"Age at which the sink reads the list of erasures again before it stores more records. The query host waits for it and for sink.insert_timeout before it deletes; both daemons need the same values."`

	DeadLetterLimit float64  `koanf:"dead_letter_limit" range:"0..1" help:"Largest share of dead letters among the records of a partition in one minute. Beyond it, with at least 100 dead letters, the sink halts the partition. 1 never halts it."`
	Lanes           []string `koanf:"lanes" form:"lane" help:"Lanes that this process stores, comma-separated: live, backfill, web, clicks, exposures. none stores nothing, for example while rollups are rebuilt beside standalone mode."`
	Backfill        Backfill `koanf:"backfill"`

	ReconcileInterval time.Duration `koanf:"reconcile_interval" range:"0s..1h" help:"Interval at which the ledger and the rollups are checked. 0 turns the checks off."`
	ReconcilePairs    int           `koanf:"reconcile_pairs" range:"1..100000" help:"Days of owners whose rollups one check compares with the events. Further days wait for the next check."`
}

// Backfill bounds what events.backfill.v1 may use of the analytics database.
type Backfill struct {
	Rate     int `koanf:"rate" range:"1..100000000" help:"Records per second that one sink stores from the backfill topic."`
	MaxParts int `koanf:"max_parts" range:"10..3000" help:"Parts in one partition of a table at which the lane backfill pauses until merges catch up."`
}

// Key configures API keys.
type Key struct {
	Prefix string `koanf:"prefix" form:"prefix" help:"Prefix of API keys, without the underscore."`
}

// Lookup configures the cached reads of the metadata store.
type Lookup struct {
	Fresh   time.Duration `koanf:"fresh" range:"10ms..5s" help:"Age at which a cached key or website is read again while no changes arrive through the topic control.v1."`
	Trusted time.Duration `koanf:"trusted" range:"10ms..10m" help:"Age at which a cached key or website is read again while changes arrive through control.v1. A value below lookup.fresh counts as lookup.fresh, and a value above lookup.stale as lookup.stale."`
	Stale   time.Duration `koanf:"stale" range:"1s..10m" help:"Age up to which a cached key or website is served while the metadata store is down."`
}

// Flags configures the feature flags that a query host answers.
type Flags struct {
	Memory     int           `koanf:"memory" range:"1048576..274877906944" help:"Bytes of flags that a query host holds in memory. Beyond it the host evicts the flags of the organizations used least recently and reads them from the metadata store on demand."`
	Stale      time.Duration `koanf:"stale" range:"1m..168h" help:"Age up to which flags and client ids held in memory are served while the metadata store is down."`
	MaxStreams int           `koanf:"max_streams" range:"1..1000000" help:"Open streams of flag changes, about 40 KB and one file each; they do not count against query.max_connections. The host answers 503 beyond this number."`
}

// Security configures what the hosts publish for people who find a vulnerability.
type Security struct {
	Contact string `koanf:"contact" form:"contact" empty:"ok" help:"Contact for vulnerability reports about this installation, such as security@example.com. Both hosts publish it in /.well-known/security.txt (RFC 9116). Empty means that they answer 404 there."`
}

// Session configures signing in.
type Session struct {
	SignUp   string        `koanf:"sign_up" oneof:"open invite off" help:"Sign-up policy: open lets anyone create an account, invite requires an invitation, and off leaves it to millrace users create."`
	Idle     time.Duration `koanf:"idle" range:"10m..2160h" help:"Time after which an unused session ends. It must not exceed session.absolute."`
	Absolute time.Duration `koanf:"absolute" range:"1h..2400h" help:"Time after which every session ends, used or not."`
}

// Mail configures the mails that people get.
type Mail struct {
	SMTP SMTP   `koanf:"smtp"`
	From string `koanf:"from" form:"mailbox" empty:"ok" help:"Sender of mails, an address with or without a name, such as Millrace <millrace@example.com>. Required with mail.smtp.addr."`
}

// SMTP says which server takes the mails.
type SMTP struct {
	Addr     string `koanf:"addr" form:"address" empty:"ok" help:"Mail server for invitations, password resets and notices, host:port. Empty sends no mail: inviters see the invitation, and millrace users reset-password prints a token for a new password."`
	TLS      string `koanf:"tls" oneof:"starttls tls none" help:"Encryption of the connection to the mail server: starttls requires the upgrade after connecting, tls encrypts from the start, none sends in the clear."`
	User     string `koanf:"user" form:"text" empty:"ok" help:"User at the mail server. Required with mail.smtp.password; empty sends mail without signing in."`
	Password Secret `koanf:"password" form:"text" empty:"ok" help:"Password at the mail server. Required with mail.smtp.user, unless mail.smtp.password_file is set."`

	PasswordFile string `koanf:"password_file" form:"path" empty:"ok" help:"File that holds the password at the mail server; an alternative to mail.smtp.password. It is read once, at the start."`
}

// Log configures the log.
type Log struct {
	Level  string `koanf:"level" oneof:"debug info warn error" help:"Least severe level to log: debug, info, warn or error."`
	Format string `koanf:"format" oneof:"json text" help:"Format of the log: json or text."`
	Access bool   `koanf:"access" help:"Log one line per request."`
}

// Trace configures OpenTelemetry traces.
type Trace struct {
	Endpoint string  `koanf:"endpoint" form:"endpoint" empty:"ok" help:"OTLP/HTTP endpoint for traces, such as http://127.0.0.1:4318. Empty turns traces off."`
	Ratio    float64 `koanf:"ratio" range:"0..1" help:"Share of requests that are traced, 0 to 1. A traceparent from a trusted proxy takes precedence."`
}

// Probe sends an event through everything, again and again.
type Probe struct {
	Interval  time.Duration `koanf:"interval" range:"0s..1h" help:"Interval at which the query host sends a test event to the ingestion host and waits until a query counts it. The events have a website of their own. 0 turns the probe off."`
	IngestURL string        `koanf:"ingest_url" form:"origin" empty:"ok" help:"URL of the ingestion host for the probe. Empty means ingest.public_url, or ingest.listen over http."`
	QueryURL  string        `koanf:"query_url" form:"origin" empty:"ok" help:"URL of the query host for the probe. Empty means query.public_url, or query.listen over http."`
}

// Shutdown bounds a stop.
type Shutdown struct {
	Delay time.Duration `koanf:"delay" range:"0s..5m" help:"Time that a daemon keeps serving, not ready, before it stops accepting connections."`
	Grace time.Duration `koanf:"grace" range:"1s..15m" help:"Longest time of the whole stop after shutdown.delay."`
}
