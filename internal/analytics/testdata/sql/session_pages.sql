SELECT
    e.path AS name,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS sessions,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.session_id != '' AND e.name = 'screen_view' AND e.path != ''
GROUP BY e.path
ORDER BY sessions DESC, e.path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
