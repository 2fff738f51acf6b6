SELECT
    pageviews,
    unique_visitors,
    sessions,
    bounce_rate,
    median_session_duration,
    total_events
FROM (
    SELECT
        sum(e.views) AS pageviews,
        uniqCombined64Merge(17)(e.visitors) AS unique_visitors,
        uniqCombined64Merge(17)(e.sessions) AS sessions,
        sum(e.events) AS total_events
    FROM (
        SELECT
            toDateTime(e.event_date, 'UTC') AS slot,
            e.events AS events,
            e.views AS views,
            e.session_views AS session_views,
            e.visitors AS visitors,
            e.sessions AS sessions
        FROM traffic_1d AS e
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
    ) AS e
) AS totals
CROSS JOIN (
    SELECT
        if(count() = 0, 0, round(100 * countIf(bounced) / count(), 2)) AS bounce_rate,
        ifNotFinite(round(quantileExactInclusive(0.5)(duration), 2), 0) AS median_session_duration
    FROM (
        SELECT
            sum(e.views) AS page_views,
            sum(e.others) AS more,
            if(sum(e.exits) > 0, sum(e.exit_time), (toUnixTimestamp64Milli(max(e.last)) - toUnixTimestamp64Milli(min(e.first))) / 1000) AS duration,
            page_views = 1 AND more = 0 AND duration < 10 AS bounced
        FROM (
            SELECT
                e.slot AS slot,
                e.session_key AS session_key,
                e.views AS views,
                e.others AS others,
                e.exits AS exits,
                e.exit_time AS exit_time,
                CAST(e.first, 'DateTime64(3, \'UTC\')') AS first,
                CAST(e.last, 'DateTime64(3, \'UTC\')') AS last
            FROM sessions_15m AS e
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.session_key <= bitShiftRight(toUInt64(18446744073709551615), (SELECT toUInt8(ceil(log2(greatest(1, uniqExact(e.session_key) / 256)))) FROM sessions_15m AS e WHERE e.owner_id = {owner:String} AND e.event_date BETWEEN {from:Date} AND {to:Date} AND e.session_key < 72057594037927936))
        ) AS e
        GROUP BY e.session_key
    )
) AS visits

-- owner String web_1
-- from Date 2026-03-24
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-24 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
