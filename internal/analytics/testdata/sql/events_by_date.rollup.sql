SELECT date, pageviews, visitors, sessions, bounce_rate, median_session_duration, pages_per_session
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
LEFT JOIN (
    SELECT
        bucket,
        pageviews,
        visitors,
        sessions,
        bounce_rate,
        median_session_duration,
        pages_per_session
    FROM (
        SELECT
            roundDown(toUnixTimestamp(e.slot), {buckets:Array(UInt32)}) AS bucket,
            sum(e.views) AS pageviews,
            uniqCombined64Merge(17)(e.visitors) AS visitors,
            uniqCombined64Merge(17)(e.sessions) AS sessions,
            if(uniqCombined64Merge(17)(e.sessions) = 0, 0, round(sum(e.session_views) / uniqCombined64Merge(17)(e.sessions), 2)) AS pages_per_session
        FROM (
            SELECT
                e.slot AS slot,
                e.events AS events,
                e.views AS views,
                e.session_views AS session_views,
                e.visitors AS visitors,
                e.sessions AS sessions
            FROM traffic_15m AS e
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_date NOT IN {base_days:Array(Date)}
              AND e.slot >= {start:DateTime64(3, 'UTC')}
              AND e.slot < {end:DateTime64(3, 'UTC')}
            UNION ALL
            SELECT
                toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC')) AS slot,
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
        GROUP BY bucket
    ) AS totals
    LEFT JOIN (
        SELECT
            bucket,
            if(count() = 0, 0, round(100 * countIf(bounced) / count(), 2)) AS bounce_rate,
            ifNotFinite(round(quantileExactInclusive(0.5)(duration), 2), 0) AS median_session_duration
        FROM (
            SELECT
                roundDown(toUnixTimestamp(e.slot), {buckets:Array(UInt32)}) AS bucket,
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
                  AND e.slot >= {start:DateTime64(3, 'UTC')}
                  AND e.slot < {end:DateTime64(3, 'UTC')}
                  AND e.session_key <= bitShiftRight(toUInt64(18446744073709551615), (SELECT toUInt8(ceil(log2(greatest(1, uniqExact(e.session_key) / 256)))) FROM sessions_15m AS e WHERE e.owner_id = {owner:String} AND e.event_date BETWEEN {from:Date} AND {to:Date} AND e.session_key < 72057594037927936))
                UNION ALL
                SELECT
                    toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC')) AS slot,
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
            GROUP BY bucket, e.session_key
        )
        GROUP BY bucket
    ) AS visits USING (bucket)
) AS measured USING (bucket)
ORDER BY bucket
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-23
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-23 18:30:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 18:30:00.000
-- base_days Array(Date) ['2026-03-30']
-- buckets Array(UInt32) [1774290600,1774377000,1774463400,1774549800,1774636200,1774722600,1774809000]
-- labels Array(String) ['2026-03-24','2026-03-25','2026-03-26','2026-03-27','2026-03-28','2026-03-29','2026-03-30']
-- limit UInt64 10000
-- offset UInt64 0
