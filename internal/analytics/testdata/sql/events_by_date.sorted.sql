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
ORDER BY visitors DESC, bucket
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-23
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-23 18:30:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 18:30:00.000
-- buckets Array(UInt32) [1774290600,1774377000,1774463400,1774549800,1774636200,1774722600,1774809000]
-- labels Array(String) ['2026-03-24','2026-03-25','2026-03-26','2026-03-27','2026-03-28','2026-03-29','2026-03-30']
-- limit UInt64 10000
-- offset UInt64 0
