-- Events, visitors and sessions per owner, quarter of an hour and event name.
CREATE TABLE IF NOT EXISTS events_15m (
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
         fsync_part_directory = 1
;

-- Fills events_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS events_15m_mv TO events_15m AS
SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,
       count() AS events,
       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,
       uniqStateIf(session_id, session_id != '') AS sessions
FROM events
GROUP BY owner_id, event_date, slot, name
;

-- Events, visitors and sessions per owner, UTC day and event name.
CREATE TABLE IF NOT EXISTS events_1d (
    owner_id   LowCardinality(String),
    event_date Date,
    name       LowCardinality(String),
    events     SimpleAggregateFunction(sum, UInt64),
    visitors   AggregateFunction(uniq, String),
    sessions   AggregateFunction(uniq, String)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, name)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1
;

-- Fills events_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS events_1d_mv TO events_1d AS
SELECT owner_id, event_date, name,
       count() AS events,
       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,
       uniqStateIf(session_id, session_id != '') AS sessions
FROM events
GROUP BY owner_id, event_date, name
;

-- What became of every range of offsets: stored, duplicate, dead letter or no record at all.
CREATE TABLE IF NOT EXISTS ingest_ledger (
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
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(written_at)
ORDER BY (topic, topic_id, partition, epoch, first, last)
TTL toDateTime(written_at) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1
;

-- Every raise of a topic's epoch, the first part of its insert tokens; the highest counts, and 1 without any.
CREATE TABLE IF NOT EXISTS ingest_epochs (
    topic     LowCardinality(String),
    epoch     Int64,
    reason    String,
    raised_at DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY (topic, epoch)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

-- The offset up to which the reconciler has found every range of a partition in the ledger.
CREATE TABLE IF NOT EXISTS ingest_marks (
    topic      LowCardinality(String),
    topic_id   UUID,
    partition  Int32,
    epoch      Int64,
    mark       Int64,
    checked_at DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(checked_at)
ORDER BY (topic, topic_id, partition)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

-- Days of an owner on which a rollup differs from events FINAL, or may; with FINAL, those whose cleared is 0 are dirty.
CREATE TABLE IF NOT EXISTS rollup_dirty (
    owner_id   LowCardinality(String),
    event_date Date,
    reason     LowCardinality(String),
    base       UInt64,
    rollup_15m UInt64,
    rollup_1d  UInt64,
    cleared    UInt8,
    found_at   DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(found_at)
ORDER BY (owner_id, event_date)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

-- Days of an owner whose rows were deleted on purpose or by retention, which no check counts as lost.
CREATE TABLE IF NOT EXISTS exclusions (
    owner_id    LowCardinality(String),
    from_date   Date,
    to_date     Date,
    reason      LowCardinality(String),
    recorded_at DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY (owner_id, from_date)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

-- Days from before the rollups are not in them.
INSERT INTO rollup_dirty (owner_id, event_date, reason, base)
SELECT owner_id, event_date, 'before_rollups', count() FROM events FINAL GROUP BY owner_id, event_date
;
