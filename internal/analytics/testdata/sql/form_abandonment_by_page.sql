SELECT
    e.path AS name,
    uniqExact(e.session) AS sessions,
    uniqExactIf(e.session, e.fields > 0) AS started_sessions,
    uniqExactIf(e.session, e.fields > 0 AND e.submits > 0) AS submitted_sessions,
    started_sessions - submitted_sessions AS abandoned_sessions,
    if(started_sessions = 0, 0, round(100 * abandoned_sessions / started_sessions, 2)) AS abandonment_rate
FROM (
    SELECT
        reinterpretAsUInt128(sipHash128(e.session_id)) AS session, e.path AS path,
        groupArrayIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors,
        countIf(e.name = 'screen_view') AS views,
        max(coalesce(if(e.name = 'page_exit' AND bitTest(e.measured, 4), toNullable(toFloat64(e.scroll_depth)), NULL), if(e.name = 'engagement', JSONExtract(e.properties, 'maxScrollDepth', 'Nullable(Float64)'), NULL))) AS depth,
        sumOrNull(if(e.name = 'page_exit' AND bitTest(e.measured, 5), toNullable(toFloat64(e.interactions)), NULL)) AS exit_interactions,
        sumOrNull(if(e.name = 'engagement', JSONExtract(e.properties, 'interactionCount', 'Nullable(Float64)'), NULL)) AS told_interactions,
        coalesce(greatest(exit_interactions, told_interactions), exit_interactions, told_interactions) AS interactions,
        sumOrNull(if(e.name = 'engagement', JSONExtract(e.properties, 'activeTime', 'Nullable(Float64)'), NULL)) AS active,
        sumOrNull(if(e.name = 'engagement', JSONExtract(e.properties, 'timeOnPage', 'Nullable(Float64)'), NULL)) AS open,
        sum(ifNull(if(e.name = 'engagement', JSONExtract(e.properties, 'rageClickCount', 'Nullable(Float64)'), NULL), 0)) AS rage,
        sum(ifNull(if(e.name = 'engagement', JSONExtract(e.properties, 'deadClickCount', 'Nullable(Float64)'), NULL), 0)) AS dead,
        sum(ifNull(if(e.name = 'engagement', JSONExtract(e.properties, 'errorCount', 'Nullable(Float64)'), NULL), 0)) AS errors,
        sum(ifNull(if(e.name = 'engagement', JSONExtract(e.properties, 'formFieldCount', 'Nullable(Float64)'), NULL), 0)) AS fields,
        sum(ifNull(if(e.name = 'engagement', JSONExtract(e.properties, 'formSubmitCount', 'Nullable(Float64)'), NULL), 0)) AS submits
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.session_id != '' AND e.path != '' AND e.name = 'engagement'
    GROUP BY session, path
) AS e
GROUP BY e.path
QUALIFY started_sessions > 0
ORDER BY abandoned_sessions DESC, e.path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
