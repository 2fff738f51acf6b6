SELECT
    set,
    date,
    pageviews,
    unique_visitors,
    sessions,
    bounce_rate,
    median_session_duration,
    total_events,
    visitors,
    pages_per_session
FROM (
    SELECT toUInt64(0) AS set, pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
    UNION ALL
    SELECT toUInt64(1), toUInt32(0), ''
) AS axis
LEFT JOIN (
    SELECT
        set,
        bucket,
        pageviews,
        unique_visitors,
        sessions,
        bounce_rate,
        median_session_duration,
        total_events,
        visitors,
        pages_per_session
    FROM (
        SELECT
            toUInt64(grouping(bucket)) AS set,
            roundDown(toUnixTimestamp(e.slot), {buckets:Array(UInt32)}) AS bucket,
            sum(e.views) AS pageviews,
            uniqCombined64Merge(17)(e.visitors) AS unique_visitors,
            uniqCombined64Merge(17)(e.sessions) AS sessions,
            sum(e.events) AS total_events,
            uniqCombined64Merge(17)(e.visitors) AS visitors,
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
              AND e.slot >= {start:DateTime64(3, 'UTC')}
              AND e.slot < {end:DateTime64(3, 'UTC')}
        ) AS e
        GROUP BY GROUPING SETS ((bucket), ())
    ) AS totals
    LEFT JOIN (
        SELECT
            set,
            bucket,
            if(count() = 0, 0, round(100 * countIf(bounced) / count(), 2)) AS bounce_rate,
            ifNotFinite(round(quantileExactInclusive(0.5)(duration), 2), 0) AS median_session_duration
        FROM (
            SELECT
                toUInt64(grouping(bucket)) AS set,
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
                  AND e.slot >= {start:DateTime64(3, 'UTC')}
                  AND e.slot < {end:DateTime64(3, 'UTC')}
                  AND e.session_key <= bitShiftRight(toUInt64(18446744073709551615), (SELECT toUInt8(ceil(log2(greatest(1, uniqExact(e.session_key) / 256)))) FROM sessions_15m AS e WHERE e.owner_id = {owner:String} AND e.event_date BETWEEN {from:Date} AND {to:Date} AND e.session_key < 72057594037927936))
            ) AS e
            GROUP BY GROUPING SETS ((bucket, e.session_key), (e.session_key))
        )
        GROUP BY set, bucket
    ) AS visits USING (set, bucket)
) AS measured USING (set, bucket)
ORDER BY set, bucket

-- owner String web_1
-- from Date 2026-03-23
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-23 23:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 22:00:00.000
-- buckets Array(UInt32) [1774306800,1774393200,1774479600,1774566000,1774652400,1774738800,1774821600]
-- labels Array(String) ['2026-03-24','2026-03-25','2026-03-26','2026-03-27','2026-03-28','2026-03-29','2026-03-30']
-- limit UInt64 10000
-- offset UInt64 0
