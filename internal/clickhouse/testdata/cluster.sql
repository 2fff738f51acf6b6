CREATE TABLE IF NOT EXISTS schema_migrations ON CLUSTER `main` (
    version    UInt32,
    name       String,
    checksum   String,
    applied_at DateTime('UTC') DEFAULT now('UTC')
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (version)
SETTINGS fsync_after_insert = 1
;

CREATE TABLE IF NOT EXISTS events ON CLUSTER `main` (
    owner_id        LowCardinality(String),
    organization_id LowCardinality(String),
    website_id      LowCardinality(String),
    event_date      Date                   CODEC(Delta(2), ZSTD(1)),
    event_time      DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at     DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at_inv UInt64                 CODEC(Delta(8), ZSTD(1)),
    raw_time        DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    name            LowCardinality(String),
    type            LowCardinality(String),
    event_key       UInt64                 CODEC(NONE),
    event_id        String                 CODEC(ZSTD(1)),
    anonymous_id    String                 CODEC(ZSTD(1)),
    session_id      String                 CODEC(ZSTD(1)),
    profile_id      String                 CODEC(ZSTD(1)),
    path            String                 CODEC(ZSTD(1)),
    namespace       LowCardinality(String),
    source          LowCardinality(String),
    properties      String                 CODEC(ZSTD(3)),
    _topic          LowCardinality(String),
    _partition      UInt16                 CODEC(ZSTD(1)),
    _offset         Int64                  CODEC(Delta(8), ZSTD(1)),
    schema_v        UInt8                  CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', received_at_inv)
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, name, event_key)
SETTINGS replicated_deduplication_window = 300000,
         replicated_deduplication_window_seconds = 86400,
         fsync_after_insert = 1,
         fsync_part_directory = 1
;

CREATE TABLE IF NOT EXISTS events_15m ON CLUSTER `main` (
    owner_id   LowCardinality(String),
    event_date Date,
    slot       DateTime('UTC'),
    name       LowCardinality(String),
    events     SimpleAggregateFunction(sum, UInt64),
    visitors   AggregateFunction(uniq, String),
    sessions   AggregateFunction(uniq, String)
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, slot, name)
SETTINGS replicated_deduplication_window = 300000,
         replicated_deduplication_window_seconds = 86400,
         fsync_after_insert = 1,
         fsync_part_directory = 1
;

CREATE MATERIALIZED VIEW IF NOT EXISTS events_15m_mv ON CLUSTER `main` TO events_15m AS
SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,
       count() AS events,
       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,
       uniqStateIf(session_id, session_id != '') AS sessions
FROM events
GROUP BY owner_id, event_date, slot, name
;

CREATE TABLE IF NOT EXISTS events_1d ON CLUSTER `main` (
    owner_id   LowCardinality(String),
    event_date Date,
    name       LowCardinality(String),
    events     SimpleAggregateFunction(sum, UInt64),
    visitors   AggregateFunction(uniq, String),
    sessions   AggregateFunction(uniq, String)
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, name)
SETTINGS replicated_deduplication_window = 300000,
         replicated_deduplication_window_seconds = 86400,
         fsync_after_insert = 1,
         fsync_part_directory = 1
;

CREATE MATERIALIZED VIEW IF NOT EXISTS events_1d_mv ON CLUSTER `main` TO events_1d AS
SELECT owner_id, event_date, name,
       count() AS events,
       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,
       uniqStateIf(session_id, session_id != '') AS sessions
FROM events
GROUP BY owner_id, event_date, name
;

CREATE TABLE IF NOT EXISTS ingest_ledger ON CLUSTER `main` (
    topic         LowCardinality(String),
    topic_id      UUID,
    partition     Int32,
    epoch         Int64,
    first         Int64                  CODEC(Delta(8), ZSTD(1)),
    last          Int64                  CODEC(Delta(8), ZSTD(1)),
    kind          LowCardinality(String),
    stored        Int64                  CODEC(ZSTD(1)),
    duplicates    Int64                  CODEC(ZSTD(1)),
    dead_letters  Int64                  CODEC(ZSTD(1)),
    skipped       Int64                  CODEC(ZSTD(1)),
    received_from DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    received_to   DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    owners        Array(String)          CODEC(ZSTD(1)),
    days          Array(Date)            CODEC(ZSTD(1)),
    written_at    DateTime64(3, 'UTC')   DEFAULT now64(3) CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY toYYYYMM(written_at)
ORDER BY (topic, topic_id, partition, epoch, first, last)
TTL toDateTime(written_at) + INTERVAL 90 DAY
SETTINGS replicated_deduplication_window = 300000,
         replicated_deduplication_window_seconds = 86400,
         fsync_after_insert = 1,
         fsync_part_directory = 1
;

CREATE TABLE IF NOT EXISTS ingest_epochs ON CLUSTER `main` (
    topic     LowCardinality(String),
    epoch     Int64,
    reason    String,
    raised_at DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (topic, epoch)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

CREATE TABLE IF NOT EXISTS ingest_marks ON CLUSTER `main` (
    topic      LowCardinality(String),
    topic_id   UUID,
    partition  Int32,
    epoch      Int64,
    mark       Int64,
    checked_at DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', checked_at)
ORDER BY (topic, topic_id, partition)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

CREATE TABLE IF NOT EXISTS rollup_dirty ON CLUSTER `main` (
    owner_id   LowCardinality(String),
    event_date Date,
    reason     LowCardinality(String),
    base       UInt64,
    rollup_15m UInt64,
    rollup_1d  UInt64,
    cleared    UInt8,
    found_at   DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', found_at)
ORDER BY (owner_id, event_date)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

CREATE TABLE IF NOT EXISTS exclusions ON CLUSTER `main` (
    owner_id    LowCardinality(String),
    from_date   Date,
    to_date     Date,
    reason      LowCardinality(String),
    recorded_at DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (owner_id, from_date)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

INSERT INTO rollup_dirty (owner_id, event_date, reason, base)
SELECT owner_id, event_date, 'before_rollups', count() FROM events FINAL GROUP BY owner_id, event_date
;

ALTER TABLE events ON CLUSTER `main` MODIFY SETTING min_bytes_for_wide_part = 268435456
;

ALTER TABLE events_15m ON CLUSTER `main` MODIFY SETTING min_bytes_for_wide_part = 268435456
;

ALTER TABLE events_1d ON CLUSTER `main` MODIFY SETTING min_bytes_for_wide_part = 268435456
;

CREATE TABLE IF NOT EXISTS usage_1d ON CLUSTER `main` (
    organization_id LowCardinality(String),
    day             Date,
    owner_id        LowCardinality(String),
    events          SimpleAggregateFunction(sum, UInt64)
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY (organization_id, day, owner_id)
SETTINGS replicated_deduplication_window = 300000,
         replicated_deduplication_window_seconds = 86400,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

CREATE MATERIALIZED VIEW IF NOT EXISTS usage_1d_mv ON CLUSTER `main` TO usage_1d AS
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM events
GROUP BY organization_id, day, owner_id
;

INSERT INTO usage_1d (organization_id, day, owner_id, events)
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM events FINAL
WHERE received_at < (SELECT max(metadata_modification_time) FROM system.tables WHERE database = currentDatabase() AND name = 'usage_1d_mv')
GROUP BY organization_id, day, owner_id
ORDER BY organization_id, day, owner_id
SETTINGS insert_deduplication_token = 'usage before the view', max_insert_threads = 1
;
