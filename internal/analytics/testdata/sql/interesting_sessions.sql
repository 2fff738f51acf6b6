SELECT
    e.session AS session_id,
    e.visitor AS visitor_id,
    e.first AS first_visit,
    e.last AS last_visit,
    round(e.took, 2) AS duration,
    e.views AS page_views,
    e.customs AS custom_events,
    e.errors AS errors,
    e.rage AS rage_clicks,
    length(e.reasons) AS score,
    toJSONString(e.reasons) AS reasons
FROM (
    SELECT
        s.*, toUInt64(c.errors) AS errors, toUInt64(greatest(g.rage, 0)) AS rage,
        arrayFilter(reason -> reason != '', [
            if(errors > 0, 'errors', ''), if(rage > 0, 'rage_clicks', ''), if(s.customs > 0, 'custom_events', ''),
            if(s.views >= 10, 'many_pages', ''), if(s.took >= 600, 'long', '')
        ]) AS reasons
    FROM (
        SELECT
            e.session_id AS session, min(e.event_time) AS first, max(e.event_time) AS last,
            (toUnixTimestamp64Milli(last) - toUnixTimestamp64Milli(first)) / 1000 AS took,
            countIf(e.name = 'screen_view') AS views, countIf(e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')) AS customs, argMinIf(e.anonymous_id, (e.event_time, e.event_key), e.anonymous_id != '') AS visitor
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id != ''
        GROUP BY e.session_id
    ) AS s
    LEFT JOIN (
        SELECT e.session_id AS id, count() AS errors
        FROM errors AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id != ''
        GROUP BY e.session_id
    ) AS c ON c.id = s.session
    LEFT JOIN (
        SELECT e.session_id AS id, sum(ifNull(if(e.name = 'engagement', JSONExtract(e.properties, 'rageClickCount', 'Nullable(Float64)'), NULL), 0)) AS rage
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.name = 'engagement'
          AND e.session_id != ''
        GROUP BY e.session_id
    ) AS g ON g.id = s.session
) AS e
QUALIFY score > 0
ORDER BY score DESC, e.last DESC, e.session
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
