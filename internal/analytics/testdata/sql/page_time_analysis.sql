SELECT
    e.path AS name,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS sessions_with_time,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors,
    ifNotFinite(round(quantileExactInclusive(0.5)(assumeNotNull(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL))), 2), 0) AS median_time_on_page,
    round(100 * count() / sum(count()) OVER (), 2) AS percentage
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.name = 'page_exit' AND ifNull(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL) >= 0, 0)
GROUP BY e.path
QUALIFY e.path != ''
ORDER BY sessions_with_time DESC, e.path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
