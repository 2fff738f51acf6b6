-- Websites, profiles and visitors that were erased: sinks leave out what was received of them at or before a moment. The latest moment counts.
CREATE TABLE IF NOT EXISTS tombstones (
    owner_id   LowCardinality(String),
    kind       LowCardinality(String),
    id         String,
    before     DateTime64(3, 'UTC'),
    erasure_id String,
    created_at DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(before)
ORDER BY (owner_id, kind, id)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1
;

-- Column erased of ingest_ledger, which came after it.
ALTER TABLE ingest_ledger ADD COLUMN IF NOT EXISTS erased Int64 CODEC(ZSTD(1))
;
