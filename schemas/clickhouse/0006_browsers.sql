-- Columns of events that came after it.
ALTER TABLE events
    ADD COLUMN IF NOT EXISTS host LowCardinality(String),
    ADD COLUMN IF NOT EXISTS title String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS referrer String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS referrer_host String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS referrer_kind LowCardinality(String),
    ADD COLUMN IF NOT EXISTS referrer_name String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS utm_source LowCardinality(String),
    ADD COLUMN IF NOT EXISTS utm_medium LowCardinality(String),
    ADD COLUMN IF NOT EXISTS utm_campaign LowCardinality(String),
    ADD COLUMN IF NOT EXISTS utm_term String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS utm_content String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS click_kind LowCardinality(String),
    ADD COLUMN IF NOT EXISTS click_id String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS browser LowCardinality(String),
    ADD COLUMN IF NOT EXISTS browser_version LowCardinality(String),
    ADD COLUMN IF NOT EXISTS os LowCardinality(String),
    ADD COLUMN IF NOT EXISTS os_version LowCardinality(String),
    ADD COLUMN IF NOT EXISTS device LowCardinality(String),
    ADD COLUMN IF NOT EXISTS country LowCardinality(String),
    ADD COLUMN IF NOT EXISTS region LowCardinality(String),
    ADD COLUMN IF NOT EXISTS city LowCardinality(String),
    ADD COLUMN IF NOT EXISTS bot LowCardinality(String),
    ADD COLUMN IF NOT EXISTS bot_kind LowCardinality(String),
    ADD COLUMN IF NOT EXISTS language LowCardinality(String),
    ADD COLUMN IF NOT EXISTS timezone LowCardinality(String),
    ADD COLUMN IF NOT EXISTS screen LowCardinality(String),
    ADD COLUMN IF NOT EXISTS viewport LowCardinality(String),
    ADD COLUMN IF NOT EXISTS connection LowCardinality(String),
    ADD COLUMN IF NOT EXISTS href String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS link_text String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS value Float64 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS time_on_page Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS scroll_depth Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS interactions UInt32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS page_count UInt32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS load_time Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS dom_ready Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS dom_interactive Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS ttfb Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS render_time Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS redirect_time Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS lookup_time Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS rtt Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS downlink Float32 CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS measured UInt32 CODEC(ZSTD(1))
;

-- Every measurement of a page in a browser, once.
CREATE TABLE IF NOT EXISTS vitals (
    owner_id        LowCardinality(String),
    organization_id LowCardinality(String),
    website_id      LowCardinality(String),
    event_date      Date                   CODEC(Delta(2), ZSTD(1)),
    event_time      DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at     DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at_inv UInt64                 CODEC(Delta(8), ZSTD(1)),
    raw_time        DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    name            LowCardinality(String),
    event_key       UInt64                 CODEC(NONE),
    event_id        String                 CODEC(ZSTD(1)),
    anonymous_id    String                 CODEC(ZSTD(1)),
    session_id      String                 CODEC(ZSTD(1)),
    profile_id      String                 CODEC(ZSTD(1)),
    path            String                 CODEC(ZSTD(1)),
    value           Float64                CODEC(ZSTD(1)),
    host            LowCardinality(String),
    browser         LowCardinality(String),
    browser_version LowCardinality(String),
    os              LowCardinality(String),
    os_version      LowCardinality(String),
    device          LowCardinality(String),
    country         LowCardinality(String),
    region          LowCardinality(String),
    city            LowCardinality(String),
    connection      LowCardinality(String),
    _topic          LowCardinality(String),
    _partition      UInt16                 CODEC(ZSTD(1)),
    _offset         Int64                  CODEC(Delta(8), ZSTD(1)),
    schema_v        UInt8                  CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(received_at_inv)
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, name, event_key)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Measurements per owner, quarter of an hour and metric: how many, their sum and their distribution.
CREATE TABLE IF NOT EXISTS vitals_15m (
    owner_id   LowCardinality(String),
    event_date Date,
    slot       DateTime('UTC'),
    name       LowCardinality(String),
    samples    SimpleAggregateFunction(sum, UInt64),
    total      SimpleAggregateFunction(sum, Float64),
    quantiles  AggregateFunction(quantilesTDigest(0.5, 0.75, 0.9, 0.95, 0.99), Float64)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, slot, name)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Fills vitals_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS vitals_15m_mv TO vitals_15m AS
SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,
       count() AS samples,
       sum(value) AS total,
       quantilesTDigestState(0.5, 0.75, 0.9, 0.95, 0.99)(value) AS quantiles
FROM vitals
GROUP BY owner_id, event_date, slot, name
;

-- Counts the rows of vitals in usage_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS vitals_usage_1d_mv TO usage_1d AS
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM vitals
GROUP BY organization_id, day, owner_id
;

-- Every error in a page's script, once.
CREATE TABLE IF NOT EXISTS errors (
    owner_id        LowCardinality(String),
    organization_id LowCardinality(String),
    website_id      LowCardinality(String),
    event_date      Date                   CODEC(Delta(2), ZSTD(1)),
    event_time      DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at     DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at_inv UInt64                 CODEC(Delta(8), ZSTD(1)),
    raw_time        DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    name            LowCardinality(String),
    event_key       UInt64                 CODEC(NONE),
    event_id        String                 CODEC(ZSTD(1)),
    anonymous_id    String                 CODEC(ZSTD(1)),
    session_id      String                 CODEC(ZSTD(1)),
    profile_id      String                 CODEC(ZSTD(1)),
    path            String                 CODEC(ZSTD(1)),
    message         String                 CODEC(ZSTD(1)),
    filename        String                 CODEC(ZSTD(1)),
    stack           String                 CODEC(ZSTD(1)),
    line            UInt32                 CODEC(ZSTD(1)),
    col             UInt32                 CODEC(ZSTD(1)),
    host            LowCardinality(String),
    browser         LowCardinality(String),
    browser_version LowCardinality(String),
    os              LowCardinality(String),
    os_version      LowCardinality(String),
    device          LowCardinality(String),
    country         LowCardinality(String),
    region          LowCardinality(String),
    city            LowCardinality(String),
    connection      LowCardinality(String),
    _topic          LowCardinality(String),
    _partition      UInt16                 CODEC(ZSTD(1)),
    _offset         Int64                  CODEC(Delta(8), ZSTD(1)),
    schema_v        UInt8                  CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(received_at_inv)
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, name, event_key)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Errors, and visitors and sessions that had them, per owner, quarter of an hour and type of error.
CREATE TABLE IF NOT EXISTS errors_15m (
    owner_id   LowCardinality(String),
    event_date Date,
    slot       DateTime('UTC'),
    name       LowCardinality(String),
    events     SimpleAggregateFunction(sum, UInt64),
    visitors   AggregateFunction(uniq, String),
    sessions   AggregateFunction(uniq, String)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, slot, name)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Fills errors_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS errors_15m_mv TO errors_15m AS
SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,
       count() AS events,
       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,
       uniqStateIf(session_id, session_id != '') AS sessions
FROM errors
GROUP BY owner_id, event_date, slot, name
;

-- Counts the rows of errors in usage_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS errors_usage_1d_mv TO usage_1d AS
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM errors
GROUP BY organization_id, day, owner_id
;

-- Everything that was told of users, once each.
CREATE TABLE IF NOT EXISTS identities (
    owner_id        LowCardinality(String),
    organization_id LowCardinality(String),
    website_id      LowCardinality(String),
    event_date      Date                   CODEC(Delta(2), ZSTD(1)),
    event_time      DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at     DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at_inv UInt64                 CODEC(Delta(8), ZSTD(1)),
    name            LowCardinality(String),
    event_key       UInt64                 CODEC(NONE),
    event_id        String                 CODEC(ZSTD(1)),
    anonymous_id    String                 CODEC(ZSTD(1)),
    profile_id      String                 CODEC(ZSTD(1)),
    traits          String                 CODEC(ZSTD(3)),
    _topic          LowCardinality(String),
    _partition      UInt16                 CODEC(ZSTD(1)),
    _offset         Int64                  CODEC(Delta(8), ZSTD(1)),
    schema_v        UInt8                  CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(received_at_inv)
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, name, event_key)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Users that an owner has told of.
CREATE TABLE IF NOT EXISTS profiles (
    owner_id        LowCardinality(String),
    organization_id SimpleAggregateFunction(any, String),
    profile_id      String                                             CODEC(ZSTD(1)),
    first_seen      SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last_seen       SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (owner_id, profile_id)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Fills profiles.
CREATE MATERIALIZED VIEW IF NOT EXISTS profiles_mv TO profiles AS
SELECT owner_id, any(CAST(organization_id, 'String')) AS organization_id, profile_id, min(event_time) AS first_seen, max(event_time) AS last_seen
FROM identities
GROUP BY owner_id, profile_id
;

-- Traits of users: with FINAL, of each what was told last.
CREATE TABLE IF NOT EXISTS profile_traits (
    owner_id   LowCardinality(String),
    profile_id String                 CODEC(ZSTD(1)),
    trait      String                 CODEC(ZSTD(1)),
    value      String                 CODEC(ZSTD(1)),
    told_at    DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    version    UInt64                 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (owner_id, profile_id, trait)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Fills profile_traits.
CREATE MATERIALIZED VIEW IF NOT EXISTS profile_traits_mv TO profile_traits AS
SELECT owner_id, profile_id, pair.1 AS trait, pair.2 AS value, event_time AS told_at,
       toUInt64(toUnixTimestamp64Milli(event_time)) * 1048576 + bitAnd(toUInt64(_offset), 1048575) AS version
FROM identities
ARRAY JOIN JSONExtractKeysAndValuesRaw(traits) AS pair
;

-- Which user a visitor id is: with FINAL, what was told last.
CREATE TABLE IF NOT EXISTS aliases (
    owner_id     LowCardinality(String),
    anonymous_id String                 CODEC(ZSTD(1)),
    profile_id   String                 CODEC(ZSTD(1)),
    told_at      DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    version      UInt64                 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (owner_id, anonymous_id)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Fills aliases.
CREATE MATERIALIZED VIEW IF NOT EXISTS aliases_mv TO aliases AS
SELECT owner_id, anonymous_id, profile_id, event_time AS told_at,
       toUInt64(toUnixTimestamp64Milli(event_time)) * 1048576 + bitAnd(toUInt64(_offset), 1048575) AS version
FROM identities
WHERE anonymous_id != ''
;

-- How many events of an owner each edge saw come to each end, per minute of receipt.
CREATE TABLE IF NOT EXISTS ingestion_1m (
    owner_id        LowCardinality(String),
    organization_id LowCardinality(String),
    website_id      LowCardinality(String),
    event_date      Date                   CODEC(Delta(2), ZSTD(1)),
    event_time      DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at     DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at_inv UInt64                 CODEC(Delta(8), ZSTD(1)),
    name            LowCardinality(String),
    event_key       UInt64                 CODEC(NONE),
    event_id        String                 CODEC(ZSTD(1)),
    source          LowCardinality(String),
    events          UInt64                 CODEC(ZSTD(1)),
    _topic          LowCardinality(String),
    _partition      UInt16                 CODEC(ZSTD(1)),
    _offset         Int64                  CODEC(Delta(8), ZSTD(1)),
    schema_v        UInt8                  CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(received_at_inv)
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, name, event_key)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;
