SELECT
    e.path AS name,
    count() AS pageviews,
    uniqExactIf(e.visitor, e.visitor != 0) AS visitors,
    round(100 * count() / sum(count()) OVER (), 2) AS percentage
FROM (
    SELECT view.1 AS path, view.2 AS visitor
    FROM (
        SELECT reinterpretAsUInt128(sipHash128(e.session_id)) AS session, argMin((e.path, if(e.anonymous_id = '', 0, reinterpretAsUInt128(sipHash128(e.anonymous_id)))), (e.event_time, e.event_key)) AS view
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id != '' AND e.name = 'screen_view'
        GROUP BY session
    )
) AS e
GROUP BY e.path
QUALIFY e.path != ''
ORDER BY pageviews DESC, e.path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
