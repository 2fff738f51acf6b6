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
          AND e.event_date NOT IN {base_days:Array(Date)}
        UNION ALL
        SELECT
            toDateTime(e.event_date, 'UTC') AS slot,
            count() AS events,
            countIf(e.name = 'screen_view') AS views,
            countIf(e.name = 'screen_view' AND e.session_id != '') AS session_views,
            uniqCombined64StateIf(17)(e.anonymous_id, e.anonymous_id != '') AS visitors,
            uniqCombined64StateIf(17)(e.session_id, e.session_id != '') AS sessions
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.event_date IN {base_days:Array(Date)}
        GROUP BY slot
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
              AND e.event_date NOT IN {base_days:Array(Date)}
              AND e.session_key <= bitShiftRight(toUInt64(18446744073709551615), (SELECT toUInt8(ceil(log2(greatest(1, uniqExact(e.session_key) / 256)))) FROM sessions_15m AS e WHERE e.owner_id = {owner:String} AND e.event_date BETWEEN {from:Date} AND {to:Date} AND e.session_key < 72057594037927936))
            UNION ALL
            SELECT
                toDateTime(e.event_date, 'UTC') AS slot,
                sipHash64(e.session_id) AS session_key,
                countIf(e.name = 'screen_view') AS views,
                countIf(e.name NOT IN ('screen_view', 'page_exit')) AS others,
                countIf(ifNull(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), -1) >= 0) AS exits,
                sumIf(ifNull(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), 0), ifNull(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), -1) >= 0) AS exit_time,
                min(e.event_time) AS first,
                max(e.event_time) AS last
            FROM events AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.event_date IN {base_days:Array(Date)}
              AND e.session_id != '' AND sipHash64(e.session_id) <= bitShiftRight(toUInt64(18446744073709551615), (SELECT toUInt8(ceil(log2(greatest(1, uniqExact(e.session_key) / 256)))) FROM sessions_15m AS e WHERE e.owner_id = {owner:String} AND e.event_date BETWEEN {from:Date} AND {to:Date} AND e.session_key < 72057594037927936))
            GROUP BY slot, session_key
        ) AS e
        GROUP BY e.session_key
    )
) AS visits

-- owner String web_1
-- from Date 2026-03-25
-- to Date 2026-03-29
-- start DateTime64(3, 'UTC') 2026-03-25 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-29 11:12:13.000
-- base_days Array(Date) ['2026-03-29']
