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
  AND if(JSONExtractString(e.properties, {filter0_key:String}) != '', JSONExtractString(e.properties, {filter0_key:String}), JSONExtractString(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {filter0_key:String})) = {filter0:String}
  AND ifNull(ifNotFinite(toFloat64OrNull(if(JSONExtractString(e.properties, {filter1_key:String}) != '', JSONExtractString(e.properties, {filter1_key:String}), JSONExtractString(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {filter1_key:String}))), NULL) > {filter1_number:Float64}, 0)
  AND NOT (ifNull(ifNotFinite(toFloat64OrNull(if(JSONExtractString(e.properties, {filter2_key:String}) != '', JSONExtractString(e.properties, {filter2_key:String}), JSONExtractString(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {filter2_key:String}))), NULL) = {filter2_number:Float64}, 0))
  AND (if(JSONExtractString(e.properties, {filter3_key:String}) != '', JSONExtractString(e.properties, {filter3_key:String}), JSONExtractString(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {filter3_key:String})) IN {filter3:Array(String)} OR ifNull(ifNotFinite(toFloat64OrNull(if(JSONExtractString(e.properties, {filter3_key:String}) != '', JSONExtractString(e.properties, {filter3_key:String}), JSONExtractString(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {filter3_key:String}))), NULL) IN {filter3_number:Array(Float64)}, 0))
  AND (JSONType(e.properties, {filter4_key:String}) != 'Null' OR JSONType(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {filter4_key:String}) != 'Null')
GROUP BY e.name
ORDER BY total_events DESC, e.name
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0_key String plan
-- filter0 String pro
-- filter1_key String a.b
-- filter1_number Float64 5
-- filter2_key String n
-- filter2_number Float64 7
-- filter3_key String x
-- filter3 Array(String) ['a','true']
-- filter3_number Array(Float64) [1]
-- filter4_key String y
-- limit UInt64 100
-- offset UInt64 0
