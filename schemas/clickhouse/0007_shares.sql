-- Column share_owners of ingest_ledger, which came after it.
ALTER TABLE ingest_ledger ADD COLUMN IF NOT EXISTS share_owners Array(String) CODEC(ZSTD(1))
;

-- Column share_hours of ingest_ledger, which came after it.
ALTER TABLE ingest_ledger ADD COLUMN IF NOT EXISTS share_hours Array(DateTime('UTC')) CODEC(ZSTD(1))
;

-- Column share_duplicates of ingest_ledger, which came after it.
ALTER TABLE ingest_ledger ADD COLUMN IF NOT EXISTS share_duplicates Array(UInt64) CODEC(ZSTD(1))
;

-- Column share_dead_letters of ingest_ledger, which came after it.
ALTER TABLE ingest_ledger ADD COLUMN IF NOT EXISTS share_dead_letters Array(UInt64) CODEC(ZSTD(1))
;

-- Column share_erased of ingest_ledger, which came after it.
ALTER TABLE ingest_ledger ADD COLUMN IF NOT EXISTS share_erased Array(UInt64) CODEC(ZSTD(1))
;

-- Records that are no rows, per owner, hour of receipt and topic.
CREATE TABLE IF NOT EXISTS unstored_1h (
    owner_id     LowCardinality(String),
    hour         DateTime('UTC'),
    topic        LowCardinality(String),
    duplicates   SimpleAggregateFunction(sum, UInt64),
    dead_letters SimpleAggregateFunction(sum, UInt64),
    erased       SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (owner_id, hour, topic)
TTL hour + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Fills unstored_1h.
CREATE MATERIALIZED VIEW IF NOT EXISTS unstored_1h_mv TO unstored_1h AS
SELECT toLowCardinality(owner) AS owner_id, hour, topic, sum(d) AS duplicates, sum(l) AS dead_letters, sum(e) AS erased
FROM ingest_ledger
ARRAY JOIN share_owners AS owner, share_hours AS hour, share_duplicates AS d, share_dead_letters AS l, share_erased AS e
GROUP BY owner_id, hour, topic
;
