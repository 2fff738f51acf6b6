SELECT
    e.name AS name,
    count() AS total_events,
    uniqExactIf(reinterpretAsUInt128(sipHash128(if(e.anonymous_id != '', e.anonymous_id, concat('\0', e.profile_id)))), e.anonymous_id != '' OR e.profile_id != '') AS unique_users,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS unique_sessions,
    max(e.event_time) AS last_occurrence,
    min(e.event_time) AS first_occurrence,
    countIf(e.properties NOT IN ('', '{}')) AS events_with_properties,
    round(100 * count() / sum(count()) OVER (), 2) AS percentage
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')
  AND (JSONHas(e.properties, {filter0:String}) OR JSONHas(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {filter0:String}))
  AND NOT ((JSONHas(e.properties, {filter1:String}) OR JSONHas(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {filter1:String})))
  AND arrayExists(v -> (JSONHas(e.properties, v) OR JSONHas(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), v)), {filter2:Array(String)})
  AND NOT (arrayExists(v -> (JSONHas(e.properties, v) OR JSONHas(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), v)), {filter3:Array(String)}))
GROUP BY e.name
ORDER BY total_events DESC, e.name
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-01
-- to Date 2026-03-31
-- start DateTime64(3, 'UTC') 2026-03-01 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-04-01 00:00:00.000
-- filter0 String plan
-- filter1 String x
-- filter2 Array(String) ['a','b']
-- filter3 Array(String) ['c']
-- limit UInt64 100
-- offset UInt64 0
