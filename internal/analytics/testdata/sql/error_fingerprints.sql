SELECT
    latest.2 AS name,
    errors AS count,
    users,
    sessions,
    latest.3 AS path,
    type AS error_type,
    latest.4 AS filename,
    toUInt64(latest.5) AS line,
    latest.6 AS stack,
    latest.1 AS last_seen
FROM (
    SELECT
        e.name AS type,
        cutQueryStringAndFragment(e.filename) AS script,
        replaceRegexpAll(replaceRegexpAll(e.message, '"[^"]*"|\\B\'[^\']*\'|`[^`]*`', '"…"'), '[0-9a-fA-F]*[0-9][0-9a-fA-F]*', '#') AS pattern,
        count() AS errors,
        uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS users,
        uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS sessions,
        max(tuple(e.event_time, e.message, e.path, e.filename, e.line, e.stack)) AS latest
    FROM errors AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
    GROUP BY type, script, pattern
)
ORDER BY count DESC, type, script, pattern
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
