SELECT
    shown.pageviews AS pageviews,
    shown.unique_visitors AS unique_visitors,
    shown.sessions AS sessions,
    shown.bounce_rate AS bounce_rate,
    shown.median_session_duration AS median_session_duration,
    shown.total_events AS total_events,
    concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('"', name, '":', toString(then)), ['pageviews', 'unique_visitors', 'sessions', 'bounce_rate', 'median_session_duration', 'total_events'], [ifNotFinite(toFloat64(ifNull(shown.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.unique_visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.sessions, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.bounce_rate, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.median_session_duration, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.total_events, 0)), 0)], [ifNotFinite(toFloat64(ifNull(earlier.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.unique_visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.sessions, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.bounce_rate, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.median_session_duration, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.total_events, 0)), 0)]), ','), '}') AS previous,
    concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('"', name, '":', if(isFinite((round(100 * (now - then) / abs(then), 2) + 0)), toString((round(100 * (now - then) / abs(then), 2) + 0)), 'null')), ['pageviews', 'unique_visitors', 'sessions', 'bounce_rate', 'median_session_duration', 'total_events'], [ifNotFinite(toFloat64(ifNull(shown.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.unique_visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.sessions, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.bounce_rate, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.median_session_duration, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.total_events, 0)), 0)], [ifNotFinite(toFloat64(ifNull(earlier.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.unique_visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.sessions, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.bounce_rate, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.median_session_duration, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.total_events, 0)), 0)]), ','), '}') AS change
FROM (
    SELECT *, rowNumberInAllBlocks() AS row
    FROM (
        SELECT
            sum(page_views) AS pageviews,
            uniqExactArray(visitors) AS unique_visitors,
            countIf(session != '') AS sessions,
            if(countIf(session != '') = 0, 0, round(100 * countIf(bounced) / countIf(session != ''), 2)) AS bounce_rate,
            ifNotFinite(round(quantileExactInclusiveIf(0.5)(duration, session != ''), 2), 0) AS median_session_duration,
            sum(events) AS total_events
        FROM (
            SELECT
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
            GROUP BY e.session_id
        )
    )
) AS shown
CROSS JOIN (
    SELECT
        sum(page_views) AS pageviews,
        uniqExactArray(visitors) AS unique_visitors,
        countIf(session != '') AS sessions,
        if(countIf(session != '') = 0, 0, round(100 * countIf(bounced) / countIf(session != ''), 2)) AS bounce_rate,
        ifNotFinite(round(quantileExactInclusiveIf(0.5)(duration, session != ''), 2), 0) AS median_session_duration,
        sum(events) AS total_events
    FROM (
        SELECT
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
        GROUP BY e.session_id
    )
) AS earlier
ORDER BY shown.row

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- previous_from Date 2025-03-30
-- previous_to Date 2025-03-30
-- previous_start DateTime64(3, 'UTC') 2025-03-30 00:00:00.000
-- previous_end DateTime64(3, 'UTC') 2025-03-31 00:00:00.000
