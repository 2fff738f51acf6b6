SELECT
    e.path AS name,
    sum(e.errors) AS errors,
    countIf(e.errors > 0) AS error_sessions,
    countIf(e.errors > 0 AND e.continued) AS error_continued,
    if(countIf(e.errors > 0) = 0, 0, round(100 * countIf(e.errors > 0 AND e.continued) / countIf(e.errors > 0), 2)) AS error_continuation_rate,
    countIf(e.errors = 0) AS clean_sessions,
    countIf(e.errors = 0 AND e.continued) AS clean_continued,
    if(countIf(e.errors = 0) = 0, 0, round(100 * countIf(e.errors = 0 AND e.continued) / countIf(e.errors = 0), 2)) AS clean_continuation_rate,
    if(countIf(e.errors > 0) = 0 OR countIf(e.errors = 0) = 0, 0, round(100 * countIf(e.errors > 0 AND e.continued) / countIf(e.errors > 0) - 100 * countIf(e.errors = 0 AND e.continued) / countIf(e.errors = 0), 2)) AS difference
FROM (
    SELECT
        v.path AS path, toUInt64(c.errors) AS errors,
        arrayExists(other -> other.1 != v.path AND other.2 > if(c.errors > 0, c.first, v.first), w.viewed) AS continued
    FROM (
        SELECT reinterpretAsUInt128(sipHash128(e.session_id)) AS session, e.path AS path, min(e.event_time) AS first
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id != '' AND e.name = 'screen_view' AND e.path != ''
          AND e.path IN (
            SELECT e.path
            FROM errors AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.session_id != ''
          )
        GROUP BY session, path
    ) AS v
    LEFT JOIN (
        SELECT reinterpretAsUInt128(sipHash128(e.session_id)) AS session, e.path AS path, min(e.event_time) AS first, count() AS errors
        FROM errors AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id != ''
        GROUP BY session, path
    ) AS c ON c.session = v.session AND c.path = v.path
    LEFT JOIN (
        SELECT p.session AS session, groupArray((p.path, p.last)) AS viewed
        FROM (
            SELECT reinterpretAsUInt128(sipHash128(e.session_id)) AS session, e.path AS path, max(e.event_time) AS last
            FROM events AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.session_id != '' AND e.name = 'screen_view'
            GROUP BY session, path
        ) AS p
        GROUP BY p.session
    ) AS w ON w.session = v.session
) AS e
GROUP BY e.path
QUALIFY error_sessions > 0
ORDER BY error_sessions DESC, e.path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
