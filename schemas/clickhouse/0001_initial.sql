-- Tables and views of the analytics database. The same columns, settings and views are
-- data in internal/adapter/clickhouse/schema; a test compares both.


-- ----------------------------------------------------------------------------
-- Records: one table for each topic. With FINAL, a record is one row.
-- ----------------------------------------------------------------------------

-- Every accepted event, once per owner and event id when read with FINAL.
CREATE TABLE IF NOT EXISTS events (
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
    schema_v        UInt8                  CODEC(ZSTD(1)),
    host            LowCardinality(String),
    title           String                 CODEC(ZSTD(1)),
    referrer        String                 CODEC(ZSTD(1)),
    referrer_host   String                 CODEC(ZSTD(1)),
    referrer_kind   LowCardinality(String),
    referrer_name   String                 CODEC(ZSTD(1)),
    utm_source      LowCardinality(String),
    utm_medium      LowCardinality(String),
    utm_campaign    LowCardinality(String),
    utm_term        String                 CODEC(ZSTD(1)),
    utm_content     String                 CODEC(ZSTD(1)),
    click_kind      LowCardinality(String),
    click_id        String                 CODEC(ZSTD(1)),
    browser         LowCardinality(String),
    browser_version LowCardinality(String),
    os              LowCardinality(String),
    os_version      LowCardinality(String),
    device          LowCardinality(String),
    country         LowCardinality(String),
    region          LowCardinality(String),
    city            LowCardinality(String),
    bot             LowCardinality(String),
    bot_kind        LowCardinality(String),
    language        LowCardinality(String),
    timezone        LowCardinality(String),
    screen          LowCardinality(String),
    viewport        LowCardinality(String),
    connection      LowCardinality(String),
    href            String                 CODEC(ZSTD(1)),
    link_text       String                 CODEC(ZSTD(1)),
    value           Float64                CODEC(ZSTD(1)),
    time_on_page    Float32                CODEC(ZSTD(1)),
    scroll_depth    Float32                CODEC(ZSTD(1)),
    interactions    UInt32                 CODEC(ZSTD(1)),
    page_count      UInt32                 CODEC(ZSTD(1)),
    load_time       Float32                CODEC(ZSTD(1)),
    dom_ready       Float32                CODEC(ZSTD(1)),
    dom_interactive Float32                CODEC(ZSTD(1)),
    ttfb            Float32                CODEC(ZSTD(1)),
    render_time     Float32                CODEC(ZSTD(1)),
    redirect_time   Float32                CODEC(ZSTD(1)),
    lookup_time     Float32                CODEC(ZSTD(1)),
    rtt             Float32                CODEC(ZSTD(1)),
    downlink        Float32                CODEC(ZSTD(1)),
    measured        UInt32                 CODEC(ZSTD(1)),
    original_name   String                 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(received_at_inv)
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, name, event_key)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456;

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
         min_bytes_for_wide_part = 268435456;

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
    original_name   String                 CODEC(ZSTD(1)),
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
         min_bytes_for_wide_part = 268435456;

-- Every identify call, once.
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
         min_bytes_for_wide_part = 268435456;

-- Events per owner, edge, minute of receipt and outcome.
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
         min_bytes_for_wide_part = 268435456;

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
         min_bytes_for_wide_part = 268435456;

-- Variants of feature flags that visitors received, once per website, visitor, flag, variant,
-- environment and UTC day.
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
         min_bytes_for_wide_part = 268435456;


-- ----------------------------------------------------------------------------
-- Rollups of events, filled by views on each insert.
-- ----------------------------------------------------------------------------

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
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456;

-- Fills events_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS events_15m_mv TO events_15m AS
SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,
       count() AS events,
       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,
       uniqStateIf(session_id, session_id != '') AS sessions
FROM events
GROUP BY owner_id, event_date, slot, name;

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
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456;

-- Fills events_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS events_1d_mv TO events_1d AS
SELECT owner_id, event_date, name,
       count() AS events,
       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,
       uniqStateIf(session_id, session_id != '') AS sessions
FROM events
GROUP BY owner_id, event_date, name;

-- Events, page views, visitors and sessions per owner and quarter of an hour.
CREATE TABLE IF NOT EXISTS traffic_15m (
    owner_id       LowCardinality(String),
    event_date     Date,
    slot           DateTime('UTC'),
    events         SimpleAggregateFunction(sum, UInt64),
    views          SimpleAggregateFunction(sum, UInt64),
    session_events SimpleAggregateFunction(sum, UInt64),
    session_views  SimpleAggregateFunction(sum, UInt64),
    visitors       AggregateFunction(uniqCombined64(17), String),
    sessions       AggregateFunction(uniqCombined64(17), String)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, slot)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456,
         index_granularity = 256;

-- Fills traffic_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS traffic_15m_mv TO traffic_15m AS
SELECT e.owner_id AS owner_id, e.event_date AS event_date, toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC')) AS slot,
       count() AS events,
       countIf(e.name = 'screen_view') AS views,
       countIf(e.session_id != '') AS session_events,
       countIf(e.name = 'screen_view' AND e.session_id != '') AS session_views,
       uniqCombined64StateIf(17)(e.anonymous_id, e.anonymous_id != '') AS visitors,
       uniqCombined64StateIf(17)(e.session_id, e.session_id != '') AS sessions
FROM events AS e
GROUP BY owner_id, event_date, slot;

-- Events, page views, visitors and sessions per owner and UTC day.
CREATE TABLE IF NOT EXISTS traffic_1d (
    owner_id       LowCardinality(String),
    event_date     Date,
    events         SimpleAggregateFunction(sum, UInt64),
    views          SimpleAggregateFunction(sum, UInt64),
    session_events SimpleAggregateFunction(sum, UInt64),
    session_views  SimpleAggregateFunction(sum, UInt64),
    visitors       AggregateFunction(uniqCombined64(17), String),
    sessions       AggregateFunction(uniqCombined64(17), String)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456,
         index_granularity = 64;

-- Fills traffic_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS traffic_1d_mv TO traffic_1d AS
SELECT e.owner_id AS owner_id, e.event_date AS event_date,
       count() AS events,
       countIf(e.name = 'screen_view') AS views,
       countIf(e.session_id != '') AS session_events,
       countIf(e.name = 'screen_view' AND e.session_id != '') AS session_views,
       uniqCombined64StateIf(17)(e.anonymous_id, e.anonymous_id != '') AS visitors,
       uniqCombined64StateIf(17)(e.session_id, e.session_id != '') AS sessions
FROM events AS e
GROUP BY owner_id, event_date;

-- Activity of each session per quarter of an hour.
CREATE TABLE IF NOT EXISTS sessions_15m (
    owner_id    LowCardinality(String),
    event_date  Date,
    session_key UInt64                                             CODEC(NONE),
    slot        DateTime('UTC'),
    events      SimpleAggregateFunction(sum, UInt64),
    views       SimpleAggregateFunction(sum, UInt64),
    others      SimpleAggregateFunction(sum, UInt64),
    exits       SimpleAggregateFunction(sum, UInt64),
    exit_time   SimpleAggregateFunction(sum, Float64),
    first       SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last        SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, session_key, slot)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456,
         index_granularity = 1024;

-- Fills sessions_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS sessions_15m_mv TO sessions_15m AS
WITH ifNull(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), -1) AS on_page
SELECT e.owner_id AS owner_id, e.event_date AS event_date, sipHash64(e.session_id) AS session_key, toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC')) AS slot,
       count() AS events,
       countIf(e.name = 'screen_view') AS views,
       countIf(e.name NOT IN ('screen_view', 'page_exit')) AS others,
       countIf(on_page >= 0) AS exits,
       sumIf(on_page, on_page >= 0) AS exit_time,
       min(e.event_time) AS first,
       max(e.event_time) AS last
FROM events AS e
WHERE e.session_id != ''
GROUP BY owner_id, event_date, session_key, slot;

-- Page views and their visitors per owner, UTC day and value of each dimension, such as path,
-- browser or country.
CREATE TABLE IF NOT EXISTS views_1d (
    owner_id      LowCardinality(String),
    dimension     LowCardinality(String),
    event_date    Date,
    value         String,
    detail        String,
    views         SimpleAggregateFunction(sum, UInt64),
    visitors      AggregateFunction(uniqCombined64(14), String),
    referrer      SimpleAggregateFunction(min, String),
    utm_source    SimpleAggregateFunction(min, String),
    referrer_host SimpleAggregateFunction(min, String)
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, dimension, value, detail, event_date)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 33554432,
         index_granularity = 128;

-- Fills views_1d, all but referrer and what begins with utm_.
CREATE MATERIALIZED VIEW IF NOT EXISTS views_1d_mv TO views_1d AS
SELECT e.owner_id AS owner_id,
       toLowCardinality(multiIf(grouping(e.browser_version) = 0, 'browser_version', grouping(e.region) = 0, 'region', grouping(e.city) = 0, 'city', grouping(e.path) = 0, 'path', grouping(e.browser) = 0, 'browser', grouping(e.os) = 0, 'os', grouping(e.device) = 0, 'device', grouping(e.country) = 0, 'country', grouping(e.language) = 0, 'language', grouping(e.timezone) = 0, 'timezone', 'screen')) AS dimension,
       e.event_date AS event_date,
       multiIf(grouping(e.browser_version) = 0, toString(e.browser), grouping(e.region) = 0, toString(e.region), grouping(e.city) = 0, toString(e.city), grouping(e.path) = 0, toString(e.path), grouping(e.browser) = 0, toString(e.browser), grouping(e.os) = 0, toString(e.os), grouping(e.device) = 0, toString(e.device), grouping(e.country) = 0, toString(e.country), grouping(e.language) = 0, toString(e.language), grouping(e.timezone) = 0, toString(e.timezone), toString(e.screen)) AS value,
       multiIf(grouping(e.browser_version) = 0, toString(e.browser_version), grouping(e.region) = 0, toString(e.country), grouping(e.city) = 0, toString(e.country), '') AS detail,
       count() AS views,
       uniqCombined64StateIf(14)(e.anonymous_id, e.anonymous_id != '') AS visitors,
       '' AS referrer, '' AS utm_source, '' AS referrer_host
FROM events AS e
WHERE e.name = 'screen_view'
GROUP BY GROUPING SETS (
    (owner_id, event_date, e.browser, e.browser_version),
    (owner_id, event_date, e.region, e.country),
    (owner_id, event_date, e.city, e.country),
    (owner_id, event_date, e.path),
    (owner_id, event_date, e.browser),
    (owner_id, event_date, e.os),
    (owner_id, event_date, e.device),
    (owner_id, event_date, e.country),
    (owner_id, event_date, e.language),
    (owner_id, event_date, e.timezone),
    (owner_id, event_date, e.screen))
HAVING value != '';

-- Fills the dimensions of views_1d that begin with utm_.
CREATE MATERIALIZED VIEW IF NOT EXISTS campaigns_1d_mv TO views_1d AS
SELECT e.owner_id AS owner_id,
       toLowCardinality(multiIf(grouping(e.utm_source) = 0, 'utm_source', grouping(e.utm_medium) = 0, 'utm_medium', grouping(e.utm_campaign) = 0, 'utm_campaign', grouping(e.utm_term) = 0, 'utm_term', 'utm_content')) AS dimension,
       e.event_date AS event_date,
       multiIf(grouping(e.utm_source) = 0, toString(e.utm_source), grouping(e.utm_medium) = 0, toString(e.utm_medium), grouping(e.utm_campaign) = 0, toString(e.utm_campaign), grouping(e.utm_term) = 0, toString(e.utm_term), toString(e.utm_content)) AS value,
       '' AS detail,
       count() AS views,
       uniqCombined64StateIf(14)(e.anonymous_id, e.anonymous_id != '') AS visitors,
       '' AS referrer, '' AS utm_source, '' AS referrer_host
FROM events AS e
WHERE e.name = 'screen_view' AND (e.utm_source != '' OR e.utm_medium != '' OR e.utm_campaign != '' OR e.utm_term != '' OR e.utm_content != '')
GROUP BY GROUPING SETS (
    (owner_id, event_date, e.utm_source),
    (owner_id, event_date, e.utm_medium),
    (owner_id, event_date, e.utm_campaign),
    (owner_id, event_date, e.utm_term),
    (owner_id, event_date, e.utm_content))
HAVING value != '';

-- Fills the dimension referrer of views_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS referrers_1d_mv TO views_1d AS
WITH if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) AS channel,
     if(channel = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name)) AS site
SELECT e.owner_id AS owner_id, toLowCardinality('referrer') AS dimension, e.event_date AS event_date, site AS value, channel AS detail,
       count() AS views,
       uniqCombined64StateIf(14)(e.anonymous_id, e.anonymous_id != '') AS visitors,
       min(e.referrer) AS referrer, min(CAST(e.utm_source, 'String')) AS utm_source, min(e.referrer_host) AS referrer_host
FROM events AS e
WHERE e.name = 'screen_view' AND e.referrer_kind != 'internal'
GROUP BY owner_id, event_date, site, channel;

-- Custom events, with their users, sessions and pages, per owner, quarter of an hour and name.
CREATE TABLE IF NOT EXISTS custom_15m (
    owner_id        LowCardinality(String),
    event_date      Date,
    slot            DateTime('UTC'),
    name            LowCardinality(String),
    events          SimpleAggregateFunction(sum, UInt64),
    with_properties SimpleAggregateFunction(sum, UInt64),
    users           AggregateFunction(uniqCombined64(14), String),
    sessions        AggregateFunction(uniqCombined64(14), String),
    pages           AggregateFunction(uniqCombined64(14), String),
    first           SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last            SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(event_date)
ORDER BY (owner_id, event_date, slot, name)
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1,
         min_bytes_for_wide_part = 268435456;

-- Fills custom_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS custom_15m_mv TO custom_15m AS
SELECT e.owner_id AS owner_id, e.event_date AS event_date, toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC')) AS slot, e.name AS name,
       count() AS events,
       countIf(e.properties NOT IN ('', '{}')) AS with_properties,
       uniqCombined64StateIf(14)(if(e.anonymous_id != '', e.anonymous_id, concat('\0', e.profile_id)), e.anonymous_id != '' OR e.profile_id != '') AS users,
       uniqCombined64StateIf(14)(e.session_id, e.session_id != '') AS sessions,
       uniqCombined64StateIf(14)(e.path, e.path != '') AS pages,
       min(e.event_time) AS first,
       max(e.event_time) AS last
FROM events AS e
WHERE e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')
GROUP BY owner_id, event_date, slot, name;


-- ----------------------------------------------------------------------------
-- Rollups of measurements and errors.
-- ----------------------------------------------------------------------------

-- Measurements per owner, quarter of an hour and metric: how many, their sum and their
-- distribution.
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
         min_bytes_for_wide_part = 268435456;

-- Fills vitals_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS vitals_15m_mv TO vitals_15m AS
SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,
       count() AS samples,
       sum(value) AS total,
       quantilesTDigestState(0.5, 0.75, 0.9, 0.95, 0.99)(value) AS quantiles
FROM vitals
GROUP BY owner_id, event_date, slot, name;

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
         min_bytes_for_wide_part = 268435456;

-- Fills errors_15m.
CREATE MATERIALIZED VIEW IF NOT EXISTS errors_15m_mv TO errors_15m AS
SELECT owner_id, event_date, toStartOfFifteenMinutes(toDateTime(event_time, 'UTC')) AS slot, name,
       count() AS events,
       uniqStateIf(anonymous_id, anonymous_id != '') AS visitors,
       uniqStateIf(session_id, session_id != '') AS sessions
FROM errors
GROUP BY owner_id, event_date, slot, name;


-- ----------------------------------------------------------------------------
-- Rollups of clicks.
-- ----------------------------------------------------------------------------

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
         index_granularity = 1024;

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
HAVING dimension = 'total' OR clicks > 0 AND (value != '' OR dimension = 'referrer');

-- Clicks per link, UTC day and value of each dimension; those per rule and variant with their
-- visitors.
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
         index_granularity = 256;

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
HAVING clicks > 0 AND (value != '' OR dimension = 'referrer');

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
GROUP BY owner_id, event_date, value, detail;


-- ----------------------------------------------------------------------------
-- Users: profiles, their traits and their visitor ids.
-- ----------------------------------------------------------------------------

-- Users that an owner has identified.
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
         min_bytes_for_wide_part = 268435456;

-- Fills profiles.
CREATE MATERIALIZED VIEW IF NOT EXISTS profiles_mv TO profiles AS
SELECT owner_id, any(CAST(organization_id, 'String')) AS organization_id, profile_id, min(event_time) AS first_seen, max(event_time) AS last_seen
FROM identities
GROUP BY owner_id, profile_id;

-- Traits of users. With FINAL, the latest value of each trait.
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
         min_bytes_for_wide_part = 268435456;

-- Fills profile_traits.
CREATE MATERIALIZED VIEW IF NOT EXISTS profile_traits_mv TO profile_traits AS
SELECT owner_id, profile_id, pair.1 AS trait, pair.2 AS value, event_time AS told_at,
       toUInt64(toUnixTimestamp64Milli(event_time)) * 1048576 + bitAnd(toUInt64(_offset), 1048575) AS version
FROM identities
ARRAY JOIN JSONExtractKeysAndValuesRaw(traits) AS pair;

-- The user of each visitor id. With FINAL, the latest one.
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
         min_bytes_for_wide_part = 268435456;

-- Fills aliases.
CREATE MATERIALIZED VIEW IF NOT EXISTS aliases_mv TO aliases AS
SELECT owner_id, anonymous_id, profile_id, event_time AS told_at,
       toUInt64(toUnixTimestamp64Milli(event_time)) * 1048576 + bitAnd(toUInt64(_offset), 1048575) AS version
FROM identities
WHERE anonymous_id != '';


-- ----------------------------------------------------------------------------
-- Usage of organizations.
-- ----------------------------------------------------------------------------

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
         min_bytes_for_wide_part = 268435456;

-- Fills usage_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS usage_1d_mv TO usage_1d AS
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM events
GROUP BY organization_id, day, owner_id;

-- Counts the rows of vitals in usage_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS vitals_usage_1d_mv TO usage_1d AS
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM vitals
GROUP BY organization_id, day, owner_id;

-- Counts the rows of errors in usage_1d.
CREATE MATERIALIZED VIEW IF NOT EXISTS errors_usage_1d_mv TO usage_1d AS
SELECT organization_id, toDate(received_at) AS day, owner_id, count() AS events
FROM errors
GROUP BY organization_id, day, owner_id;


-- ----------------------------------------------------------------------------
-- Delivery: what sinks and the reconciler record.
-- ----------------------------------------------------------------------------

-- Outcome of every range of offsets: stored, duplicate, dead letter, erased or no record.
CREATE TABLE IF NOT EXISTS ingest_ledger (
    topic              LowCardinality(String),
    topic_id           UUID,
    partition          Int32,
    epoch              Int64,
    first              Int64                  CODEC(Delta(8), ZSTD(1)),
    last               Int64                  CODEC(Delta(8), ZSTD(1)),
    kind               LowCardinality(String),
    stored             Int64                  CODEC(ZSTD(1)),
    duplicates         Int64                  CODEC(ZSTD(1)),
    dead_letters       Int64                  CODEC(ZSTD(1)),
    erased             Int64                  CODEC(ZSTD(1)),
    skipped            Int64                  CODEC(ZSTD(1)),
    received_from      DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    received_to        DateTime64(3, 'UTC')   CODEC(ZSTD(1)),
    owners             Array(String)          CODEC(ZSTD(1)),
    days               Array(Date)            CODEC(ZSTD(1)),
    share_owners       Array(String)          CODEC(ZSTD(1)),
    share_hours        Array(DateTime('UTC')) CODEC(ZSTD(1)),
    share_duplicates   Array(UInt64)          CODEC(ZSTD(1)),
    share_dead_letters Array(UInt64)          CODEC(ZSTD(1)),
    share_erased       Array(UInt64)          CODEC(ZSTD(1)),
    written_at         DateTime64(3, 'UTC')   DEFAULT now64(3) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(written_at)
ORDER BY (topic, topic_id, partition, epoch, first, last)
TTL toDateTime(written_at) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 300000,
         fsync_after_insert = 1,
         fsync_part_directory = 1;

-- Records that were not stored as rows, per owner, hour of receipt and topic.
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
         min_bytes_for_wide_part = 268435456;

-- Fills unstored_1h.
CREATE MATERIALIZED VIEW IF NOT EXISTS unstored_1h_mv TO unstored_1h AS
SELECT toLowCardinality(owner) AS owner_id, hour, topic, sum(d) AS duplicates, sum(l) AS dead_letters, sum(e) AS erased
FROM ingest_ledger
ARRAY JOIN share_owners AS owner, share_hours AS hour, share_duplicates AS d, share_dead_letters AS l, share_erased AS e
GROUP BY owner_id, hour, topic;

-- Every raise of a topic's epoch, the first part of its insert tokens. The highest epoch counts; a
-- topic without a row has epoch 1.
CREATE TABLE IF NOT EXISTS ingest_epochs (
    topic     LowCardinality(String),
    epoch     Int64,
    reason    String,
    raised_at DateTime64(3, 'UTC')   DEFAULT now64(3)
)
ENGINE = MergeTree
ORDER BY (topic, epoch)
SETTINGS fsync_after_insert = 1,
         fsync_part_directory = 1;

-- Per partition, the offset up to which the reconciler has found every range in the ledger.
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
         fsync_part_directory = 1;

-- Days of an owner on which a rollup differs, or may differ, from events FINAL. With FINAL, a day
-- is dirty while cleared is 0.
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
         fsync_part_directory = 1;


-- ----------------------------------------------------------------------------
-- Privacy: erasures and retention.
-- ----------------------------------------------------------------------------

-- Erased websites, profiles and visitors. Sinks leave out their records that were received at or
-- before a moment; the latest moment counts.
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
         fsync_part_directory = 1;

-- Days of an owner whose rows were deleted by request or by retention. No check counts them as
-- lost.
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
         fsync_part_directory = 1;
