SELECT
    e.session_id AS session_id,
    argMaxIf(e.path, (e.name = 'screen_view', e.event_time, e.event_key), e.path != '') AS current_page,
    argMaxIf(e.country, (e.event_time, e.event_key), e.country != '') AS country,
    argMaxIf(e.device, (e.event_time, e.event_key), e.device != '') AS device_type,
    countIf(e.name = 'screen_view') AS pages_viewed,
    max(e.event_time) AS last_seen
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.session_id != ''
GROUP BY e.session_id
QUALIFY max(e.event_time) >= {end:DateTime64(3, 'UTC')} - INTERVAL 5 MINUTE - INTERVAL 1 MILLISECOND
ORDER BY last_seen DESC, e.session_id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 09:50:30.000
-- end DateTime64(3, 'UTC') 2026-03-30 10:20:30.001
-- limit UInt64 100
-- offset UInt64 0
