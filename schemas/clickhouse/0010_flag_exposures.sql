-- Which variants of feature flags visitors were given: once per website, visitor, flag, variant, environment and UTC day.
CREATE TABLE IF NOT EXISTS flag_exposures (
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
    variant         LowCardinality(String),
    environment     LowCardinality(String),
    reason          LowCardinality(String),
    sample_percent  UInt8                  CODEC(ZSTD(1)),
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
