SELECT
    e.path AS page,
    e.name AS metric_name,
    round(quantilesExactInclusive(0.5, 0.75, 0.9, 0.95, 0.99)(e.value)[1], 4) AS p50,
    round(quantilesExactInclusive(0.5, 0.75, 0.9, 0.95, 0.99)(e.value)[2], 4) AS p75,
    round(quantilesExactInclusive(0.5, 0.75, 0.9, 0.95, 0.99)(e.value)[3], 4) AS p90,
    round(quantilesExactInclusive(0.5, 0.75, 0.9, 0.95, 0.99)(e.value)[4], 4) AS p95,
    round(quantilesExactInclusive(0.5, 0.75, 0.9, 0.95, 0.99)(e.value)[5], 4) AS p99,
    count() AS samples
FROM vitals AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.path != ''
GROUP BY e.path, e.name
ORDER BY samples DESC, e.path, e.name
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
