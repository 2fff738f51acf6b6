-- Stored events per organization, owner and UTC day of receipt.
CREATE TABLE IF NOT EXISTS usage_1d (
    organization_id LowCardinality(String),
    day             Date,
    owner_id        LowCardinality(String),
    events          SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (organization_id, day, owner_id)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Fills usage_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS usage_1d_mv TO usage_1d AS
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM events
GROUP BY organization_id, day, owner_id
;

-- Usage from before the view.
INSERT INTO usage_1d (organization_id, day, owner_id, events)
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM events FINAL
WHERE received_at < (SELECT max(metadata_modification_time) FROM system.tables WHERE database = currentDatabase() AND name = 'usage_1d_mv')
GROUP BY organization_id, day, owner_id
ORDER BY organization_id, day, owner_id
SETTINGS insert_deduplication_token = 'usage before the view', max_insert_threads = 1
;
