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
  AND e.path = {filter0:String}
  AND NOT (e.namespace = {filter1:String})
  AND position(e.source, {filter2:String}) > 0
  AND NOT (position(e.profile_id, {filter3:String}) > 0)
  AND startsWith(e.session_id, {filter4:String})
  AND e.anonymous_id IN {filter5:Array(String)}
  AND NOT (e.website_id IN {filter6:Array(String)})
GROUP BY e.path
QUALIFY e.path != ''
ORDER BY visitors, e.path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-29
-- to Date 2026-03-29
-- start DateTime64(3, 'UTC') 2026-03-29 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- filter0 String /
-- filter1 String x
-- filter2 String x
-- filter3 String x
-- filter4 String x
-- filter5 Array(String) ['x']
-- filter6 Array(String) ['x']
-- limit UInt64 10
-- offset UInt64 20
