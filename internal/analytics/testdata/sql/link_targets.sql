SELECT
    e.rule_id AS rule_id,
    e.variant_id AS variant_id,
    count() AS clicks,
    uniqExactIf(e.visitor, e.is_bot = 0 AND e.visitor != '') AS unique_visitors
FROM clicks AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.is_bot = 0
GROUP BY e.rule_id, e.variant_id
ORDER BY clicks DESC, e.rule_id, e.variant_id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String lnk_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 10
-- offset UInt64 0
