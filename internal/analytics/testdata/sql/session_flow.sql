SELECT
    from_path,
    to_path,
    concat(from_path, ' → ', to_path) AS name,
    count() AS transitions,
    uniqExact(session) AS sessions
FROM (
    SELECT session, pair.1 AS from_path, pair.2 AS to_path
    FROM (
        SELECT
            reinterpretAsUInt128(sipHash128(e.session_id)) AS session,
            arrayCompact(arraySort(groupArray((e.event_time, e.path))).2) AS paths
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.name = 'screen_view' AND e.session_id != '' AND e.path != ''
        GROUP BY session
    )
    ARRAY JOIN arrayZip(arrayPopBack(paths), arrayPopFront(paths)) AS pair
)
GROUP BY from_path, to_path
ORDER BY transitions DESC, from_path, to_path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
