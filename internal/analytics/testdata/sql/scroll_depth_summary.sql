SELECT
    ifNotFinite(round(avgOrDefault(e.depth), 2), 0) AS avg_scroll_depth,
    uniqExactIf(e.session, isNotNull(e.depth)) AS total_sessions,
    uniqExactArrayIf(e.visitors, isNotNull(e.depth)) AS visitors
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
      AND e.session_id != '' AND e.name IN ('page_exit', 'engagement')
    GROUP BY session, path
) AS e

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
