SELECT
    e.message AS message,
    e.stack AS stack,
    e.path AS path,
    e.anonymous_id AS anonymous_id,
    e.session_id AS session_id,
    e.event_time AS timestamp,
    e.filename AS filename,
    toUInt64(e.line) AS lineno,
    toUInt64(e.col) AS colno,
    e.name AS error_type,
    e.browser AS browser_name,
    e.browser_version AS browser_version,
    e.os AS os_name,
    e.os_version AS os_version,
    e.device AS device_type,
    e.country AS country,
    e.region AS region
FROM errors AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
ORDER BY timestamp DESC, e.owner_id, e.event_key, e.name
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
