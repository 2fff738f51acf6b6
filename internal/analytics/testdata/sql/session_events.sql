SELECT
    e.session_id AS session_id,
    e.event_id AS id,
    e.event_time AS time,
    e.name AS event_name,
    e.path AS path,
    e.properties AS properties,
    e.anonymous_id AS anonymous_id
FROM (
    SELECT e.*
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.session_id = {filter0:String}
      AND (e.event_date, e.name, e.event_key) IN (
        SELECT e.event_date, e.name, e.event_key
        FROM events AS e
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id = {filter0:String}
      )
) AS e
ORDER BY time, e.owner_id, e.event_key, e.name
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String x
-- limit UInt64 500
-- offset UInt64 0
