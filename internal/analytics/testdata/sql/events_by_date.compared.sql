SELECT
    shown.date AS date,
    shown.pageviews AS pageviews,
    shown.visitors AS visitors,
    shown.sessions AS sessions,
    shown.bounce_rate AS bounce_rate,
    shown.median_session_duration AS median_session_duration,
    shown.pages_per_session AS pages_per_session,
    concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('"', name, '":', toString(then)), ['pageviews', 'visitors', 'sessions', 'bounce_rate', 'median_session_duration', 'pages_per_session'], [ifNotFinite(toFloat64(ifNull(shown.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.sessions, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.bounce_rate, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.median_session_duration, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.pages_per_session, 0)), 0)], [ifNotFinite(toFloat64(ifNull(earlier.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.sessions, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.bounce_rate, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.median_session_duration, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.pages_per_session, 0)), 0)]), ','), '}') AS previous,
    concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('"', name, '":', if(isFinite((round(100 * (now - then) / abs(then), 2) + 0)), toString((round(100 * (now - then) / abs(then), 2) + 0)), 'null')), ['pageviews', 'visitors', 'sessions', 'bounce_rate', 'median_session_duration', 'pages_per_session'], [ifNotFinite(toFloat64(ifNull(shown.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.sessions, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.bounce_rate, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.median_session_duration, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.pages_per_session, 0)), 0)], [ifNotFinite(toFloat64(ifNull(earlier.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.sessions, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.bounce_rate, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.median_session_duration, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.pages_per_session, 0)), 0)]), ','), '}') AS change
FROM (
    SELECT *, rowNumberInAllBlocks() AS row
    FROM (
        SELECT date, pageviews, visitors, sessions, bounce_rate, median_session_duration, pages_per_session, indexOf({buckets:Array(UInt32)}, bucket) AS step
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
    )
) AS shown
LEFT JOIN (
    SELECT date, pageviews, visitors, sessions, bounce_rate, median_session_duration, pages_per_session, indexOf({previous_buckets:Array(UInt32)}, bucket) AS step
    FROM (
        SELECT pair.1 AS bucket, pair.2 AS date
        FROM (SELECT arrayJoin(arrayZip({previous_buckets:Array(UInt32)}, {previous_labels:Array(String)})) AS pair)
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
                roundDown(toUnixTimestamp(e.event_time), {previous_buckets:Array(UInt32)}) AS bucket,
                e.session_id AS session,
                count() AS events,
                countIf(e.name = 'screen_view') AS page_views,
                groupUniqArrayIf(e.anonymous_id, e.anonymous_id != '') AS visitors,
                ifNull(sumOrNullIf(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL) >= 0), (toUnixTimestamp64Milli(max(e.event_time)) - toUnixTimestamp64Milli(min(e.event_time))) / 1000) AS duration,
                session != '' AND page_views = 1 AND duration < 10 AND countIf(e.name NOT IN ('screen_view', 'page_exit')) = 0 AS bounced
            FROM events AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {previous_from:Date} AND {previous_to:Date}
              AND e.event_time >= {previous_start:DateTime64(3, 'UTC')}
              AND e.event_time < {previous_end:DateTime64(3, 'UTC')}
            GROUP BY bucket, e.session_id
        )
        GROUP BY bucket
    ) AS measured USING (bucket)
) AS earlier ON shown.step = earlier.step
ORDER BY shown.row

-- owner String web_1
-- from Date 2026-03-29
-- to Date 2026-03-29
-- start DateTime64(3, 'UTC') 2026-03-29 08:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-29 12:00:00.000
-- buckets Array(UInt32) [1774771200,1774774800,1774778400,1774782000]
-- labels Array(String) ['2026-03-29 10:00:00','2026-03-29 11:00:00','2026-03-29 12:00:00','2026-03-29 13:00:00']
-- limit UInt64 10000
-- offset UInt64 0
-- previous_from Date 2026-03-29
-- previous_to Date 2026-03-29
-- previous_start DateTime64(3, 'UTC') 2026-03-29 04:00:00.000
-- previous_end DateTime64(3, 'UTC') 2026-03-29 08:00:00.000
-- previous_buckets Array(UInt32) [1774756800,1774760400,1774764000,1774767600]
-- previous_labels Array(String) ['2026-03-29 06:00:00','2026-03-29 07:00:00','2026-03-29 08:00:00','2026-03-29 09:00:00']
