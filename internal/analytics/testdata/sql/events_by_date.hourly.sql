SELECT date, pageviews, visitors, sessions, bounce_rate, median_session_duration, pages_per_session
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
LEFT JOIN (
    SELECT
        bucket,
        sum(page_views) AS pageviews,
        uniqExactArray(visitors) AS visitors,
        countIf(session != '') AS sessions,
        if(countIf(session != '') = 0, 0, round(100 * countIf(bounced) / countIf(session != ''), 2)) AS bounce_rate,
        ifNotFinite(round(quantileExactInclusiveIf(0.5)(duration, session != ''), 2), 0) AS median_session_duration,
        if(countIf(session != '') = 0, 0, round(sumIf(page_views, session != '') / countIf(session != ''), 2)) AS pages_per_session
    FROM (
        SELECT
            roundDown(toUnixTimestamp(e.event_time), {buckets:Array(UInt32)}) AS bucket,
            e.session_id AS session,
            count() AS events,
            countIf(e.name = 'screen_view') AS page_views,
            groupUniqArrayIf(e.anonymous_id, e.anonymous_id != '') AS visitors,
            ifNull(sumOrNullIf(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL) >= 0), (toUnixTimestamp64Milli(max(e.event_time)) - toUnixTimestamp64Milli(min(e.event_time))) / 1000) AS duration,
            session != '' AND page_views = 1 AND duration < 10 AND countIf(e.name NOT IN ('screen_view', 'page_exit')) = 0 AS bounced
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
        GROUP BY bucket, e.session_id
    )
    GROUP BY bucket
) AS measured USING (bucket)
ORDER BY bucket
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-10-24
-- to Date 2026-10-25
-- start DateTime64(3, 'UTC') 2026-10-24 22:00:00.000
-- end DateTime64(3, 'UTC') 2026-10-25 23:00:00.000
-- buckets Array(UInt32) [1792879200,1792882800,1792886400,1792890000,1792893600,1792897200,1792900800,1792904400,1792908000,1792911600,1792915200,1792918800,1792922400,1792926000,1792929600,1792933200,1792936800,1792940400,1792944000,1792947600,1792951200,1792954800,1792958400,1792962000,1792965600]
-- labels Array(String) ['2026-10-25 00:00:00','2026-10-25 01:00:00','2026-10-25 02:00:00','2026-10-25 02:00:00','2026-10-25 03:00:00','2026-10-25 04:00:00','2026-10-25 05:00:00','2026-10-25 06:00:00','2026-10-25 07:00:00','2026-10-25 08:00:00','2026-10-25 09:00:00','2026-10-25 10:00:00','2026-10-25 11:00:00','2026-10-25 12:00:00','2026-10-25 13:00:00','2026-10-25 14:00:00','2026-10-25 15:00:00','2026-10-25 16:00:00','2026-10-25 17:00:00','2026-10-25 18:00:00','2026-10-25 19:00:00','2026-10-25 20:00:00','2026-10-25 21:00:00','2026-10-25 22:00:00','2026-10-25 23:00:00']
-- limit UInt64 10000
-- offset UInt64 0
