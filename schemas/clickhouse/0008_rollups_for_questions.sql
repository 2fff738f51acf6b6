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
         index_granularity = 256
;

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
GROUP BY owner_id, event_date, slot
;

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
         index_granularity = 64
;

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
GROUP BY owner_id, event_date
;

-- What happened in each quarter of an hour of each session.
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
         index_granularity = 1024
;

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
GROUP BY owner_id, event_date, session_key, slot
;

-- Page views and their visitors per owner, UTC day and value of each dimension, such as path, browser or country.
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
         index_granularity = 128
;

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
HAVING value != ''
;

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
HAVING value != ''
;

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
GROUP BY owner_id, event_date, site, channel
;

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
         min_bytes_for_wide_part = 268435456
;

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
GROUP BY owner_id, event_date, slot, name
;

-- Days from before the rollups are not in them.
INSERT INTO rollup_dirty (owner_id, event_date, reason)
SELECT DISTINCT owner_id, event_date, 'before_rollups' FROM events
WHERE (owner_id, event_date) NOT IN (SELECT owner_id, event_date FROM rollup_dirty FINAL WHERE cleared = 0)
;
