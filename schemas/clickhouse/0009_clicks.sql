-- Every click of a short link, once per link and click id when read with FINAL.
CREATE TABLE IF NOT EXISTS clicks (
    link_id         String                 CODEC(ZSTD(1)),
    owner_id        String                 ALIAS link_id,
    organization_id LowCardinality(String),
    event_date      Date                   CODEC(Delta(2), ZSTD(1)),
    event_time      DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at     DateTime64(3, 'UTC')   CODEC(Delta(8), ZSTD(1)),
    received_at_inv UInt64                 CODEC(Delta(8), ZSTD(1)),
    name            LowCardinality(String) ALIAS 'click',
    click_key       UInt64                 CODEC(NONE),
    event_key       UInt64                 ALIAS click_key,
    click_id        String                 CODEC(ZSTD(1)),
    visitor         String                 CODEC(ZSTD(1)),
    country         LowCardinality(String),
    region          LowCardinality(String),
    city            LowCardinality(String),
    device          LowCardinality(String),
    os              LowCardinality(String),
    browser         LowCardinality(String),
    language        LowCardinality(String),
    referrer_host   String                 CODEC(ZSTD(1)),
    referrer_kind   LowCardinality(String),
    referrer_name   String                 CODEC(ZSTD(1)),
    utm_source      LowCardinality(String),
    utm_medium      LowCardinality(String),
    utm_campaign    LowCardinality(String),
    utm_term        String                 CODEC(ZSTD(1)),
    utm_content     String                 CODEC(ZSTD(1)),
    rule_id         String                 CODEC(ZSTD(1)),
    variant_id      String                 CODEC(ZSTD(1)),
    is_qr           UInt8                  CODEC(ZSTD(1)),
    is_bot          UInt8                  CODEC(ZSTD(1)),
    bot_reason      LowCardinality(String),
    status          UInt16                 CODEC(ZSTD(1)),
    _topic          LowCardinality(String),
    _partition      UInt16                 CODEC(ZSTD(1)),
    _offset         Int64                  CODEC(Delta(8), ZSTD(1)),
    schema_v        UInt8                  CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(received_at_inv)
PARTITION BY toYYYYMM(event_date)
ORDER BY (link_id, event_date, click_key)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456
;

-- Clicks per link, quarter of an hour and value of each dimension, such as country or browser.
CREATE TABLE IF NOT EXISTS clicks_15m (
    owner_id   String                               CODEC(ZSTD(1)),
    dimension  LowCardinality(String),
    event_date Date,
    slot       DateTime('UTC'),
    value      String                               CODEC(ZSTD(1)),
    detail     String                               CODEC(ZSTD(1)),
    clicks     SimpleAggregateFunction(sum, UInt64),
    bots       SimpleAggregateFunction(sum, UInt64)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, dimension, event_date, slot, value, detail)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456,
         index_granularity = 1024
;

-- Fills clicks_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_15m_mv TO clicks_15m AS
SELECT e.link_id AS owner_id,
       toLowCardinality(multiIf(grouping(e.region) = 0, 'region', grouping(e.city) = 0, 'city', grouping(e.referrer_host) = 0, 'referrer', grouping(e.country) = 0, 'country', grouping(e.device) = 0, 'device', grouping(e.browser) = 0, 'browser', 'total')) AS dimension,
       e.event_date AS event_date, toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC')) AS slot,
       multiIf(grouping(e.region) = 0, toString(e.region), grouping(e.city) = 0, toString(e.city), grouping(e.referrer_host) = 0, toString(e.referrer_host), grouping(e.country) = 0, toString(e.country), grouping(e.device) = 0, toString(e.device), grouping(e.browser) = 0, toString(e.browser), '') AS value,
       multiIf(grouping(e.region) = 0, toString(e.country), grouping(e.city) = 0, toString(e.country), grouping(e.referrer_host) = 0, toString(e.referrer_name), grouping(e.country) = 0, '', grouping(e.device) = 0, '', grouping(e.browser) = 0, '', '') AS detail,
       countIf(e.is_bot = 0) AS clicks,
       if(dimension = 'total', countIf(e.is_bot != 0), 0) AS bots
FROM clicks AS e
GROUP BY GROUPING SETS (
    (owner_id, event_date, slot, e.region, e.country),
    (owner_id, event_date, slot, e.city, e.country),
    (owner_id, event_date, slot, e.referrer_host, e.referrer_name),
    (owner_id, event_date, slot, e.country),
    (owner_id, event_date, slot, e.device),
    (owner_id, event_date, slot, e.browser),
    (owner_id, event_date, slot))
HAVING dimension = 'total' OR clicks > 0 AND (value != '' OR dimension = 'referrer')
;

-- Clicks per link, UTC day and value of each dimension; those per rule and variant with their visitors.
CREATE TABLE IF NOT EXISTS clicks_1d (
    owner_id   String                                                         CODEC(ZSTD(1)),
    dimension  LowCardinality(String),
    event_date Date,
    value      String                                                         CODEC(ZSTD(1)),
    detail     String                                                         CODEC(ZSTD(1)),
    clicks     SimpleAggregateFunction(sum, UInt64),
    bots       SimpleAggregateFunction(sum, UInt64),
    visitors   AggregateFunction(uniqCombined64(17), String),
    visits     AggregateFunction(uniqCombined64(17), String, DateTime('UTC')),
    last       SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, dimension, event_date, value, detail)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456,
         index_granularity = 256
;

-- Fills clicks_1d, all but target.
CREATE MATERIALIZED VIEW IF NOT EXISTS click_values_1d_mv TO clicks_1d AS
SELECT e.link_id AS owner_id,
       toLowCardinality(multiIf(grouping(e.region) = 0, 'region', grouping(e.city) = 0, 'city', grouping(e.referrer_host) = 0, 'referrer', grouping(e.country) = 0, 'country', grouping(e.device) = 0, 'device', 'browser')) AS dimension,
       e.event_date AS event_date,
       multiIf(grouping(e.region) = 0, toString(e.region), grouping(e.city) = 0, toString(e.city), grouping(e.referrer_host) = 0, toString(e.referrer_host), grouping(e.country) = 0, toString(e.country), grouping(e.device) = 0, toString(e.device), toString(e.browser)) AS value,
       multiIf(grouping(e.region) = 0, toString(e.country), grouping(e.city) = 0, toString(e.country), grouping(e.referrer_host) = 0, toString(e.referrer_name), grouping(e.country) = 0, '', grouping(e.device) = 0, '', '') AS detail,
       countIf(e.is_bot = 0) AS clicks,
       toUInt64(0) AS bots,
       uniqCombined64StateIf(17)(e.visitor, false) AS visitors,
       uniqCombined64StateIf(17)(e.visitor, toDateTime(e.event_time, 'UTC'), false) AS visits,
       maxIf(e.event_time, e.is_bot = 0) AS last
FROM clicks AS e
GROUP BY GROUPING SETS (
    (owner_id, event_date, e.region, e.country),
    (owner_id, event_date, e.city, e.country),
    (owner_id, event_date, e.referrer_host, e.referrer_name),
    (owner_id, event_date, e.country),
    (owner_id, event_date, e.device),
    (owner_id, event_date, e.browser))
HAVING clicks > 0 AND (value != '' OR dimension = 'referrer')
;

-- Fills the dimension target of clicks_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS clicks_1d_mv TO clicks_1d AS
SELECT e.link_id AS owner_id, toLowCardinality('target') AS dimension, e.event_date AS event_date,
       e.rule_id AS value, e.variant_id AS detail,
       countIf(e.is_bot = 0) AS clicks,
       countIf(e.is_bot != 0) AS bots,
       uniqCombined64StateIf(17)(e.visitor, e.is_bot = 0 AND e.visitor != '') AS visitors,
       uniqCombined64StateIf(17)(e.visitor, toStartOfHour(toDateTime(e.event_time, 'UTC')), e.is_bot = 0 AND e.visitor != '') AS visits,
       maxIf(e.event_time, e.is_bot = 0) AS last
FROM clicks AS e
GROUP BY owner_id, event_date, value, detail
;
