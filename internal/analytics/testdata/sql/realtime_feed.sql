SELECT
    e.name AS event_name,
    e.path AS path,
    e.country AS country,
    e.browser AS browser_name,
    e.event_time AS timestamp
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
ORDER BY timestamp DESC, e.owner_id, e.event_key, e.name
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 09:50:30.000
-- end DateTime64(3, 'UTC') 2026-03-30 10:20:30.001
-- limit UInt64 50
-- offset UInt64 0
