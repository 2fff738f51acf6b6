SELECT
    e.path AS name,
    count() AS pageviews,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors,
    round(100 * count() / sum(count()) OVER (), 2) AS percentage
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.name = 'screen_view'
  AND (e.country = {filter0:String} OR (match(queryString(cutFragment(e.path)), {filter1:String}) AND NOT (ifNull(if(bitTest(e.measured, 14), toNullable(e.rtt), NULL) >= {filter2:Float64}, 0))))
  AND NOT (e.city != '')
  AND NOT (ifNull(if(bitTest(e.measured, 4), toNullable(e.scroll_depth), NULL) IN {filter4:Array(Float64)}, 0)) AND endsWith(e.host, {filter5:String})
GROUP BY e.path
QUALIFY e.path != ''
ORDER BY pageviews DESC, e.path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String AT
-- filter1 String ^a=\\d+$
-- filter2 Float64 100.5
-- filter4 Array(Float64) [1,2.5]
-- filter5 String .at
-- limit UInt64 100
-- offset UInt64 0
