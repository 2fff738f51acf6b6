SELECT
    multiIf(duration < 30, '0-30s', duration < 60, '30s-1m', duration < 300, '1m-5m', duration < 900, '5m-15m', duration < 3600, '15m-1h', '1h+') AS duration_range,
    count() AS sessions,
    uniqExactArray(visitors) AS visitors
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
      AND e.session_id != ''
    GROUP BY e.session_id
)
GROUP BY multiIf(duration < 30, '0-30s', duration < 60, '30s-1m', duration < 300, '1m-5m', duration < 900, '5m-15m', duration < 3600, '15m-1h', '1h+')
ORDER BY min(duration), min(duration)
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
