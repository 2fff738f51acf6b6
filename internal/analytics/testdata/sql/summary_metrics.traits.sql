SELECT
    sum(page_views) AS pageviews,
    uniqExactArray(visitors) AS unique_visitors,
    countIf(session != '') AS sessions,
    if(countIf(session != '') = 0, 0, round(100 * countIf(bounced) / countIf(session != ''), 2)) AS bounce_rate,
    ifNotFinite(round(quantileExactInclusiveIf(0.5)(duration, session != ''), 2), 0) AS median_session_duration,
    sum(events) AS total_events
FROM (
    SELECT
        e.session_id AS session,
        count() AS events,
        countIf(e.name = 'screen_view') AS page_views,
        groupUniqArrayIf(e.anonymous_id, e.anonymous_id != '') AS visitors,
        ifNull(sumOrNullIf(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL) >= 0), (toUnixTimestamp64Milli(max(e.event_time)) - toUnixTimestamp64Milli(min(e.event_time))) / 1000) AS duration,
        session != '' AND page_views = 1 AND duration < 10 AND countIf(e.name NOT IN ('screen_view', 'page_exit')) = 0 AS bounced
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND ((e.owner_id, e.profile_id) IN (SELECT t.owner_id, t.profile_id FROM profile_traits AS t FINAL WHERE t.owner_id = {owner:String} AND t.trait = {filter0_key:String} AND t.value != 'null' AND if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value) = {filter0:String}) OR e.profile_id = '' AND (e.owner_id, e.anonymous_id) IN (SELECT a.owner_id, a.anonymous_id FROM aliases AS a FINAL WHERE a.owner_id = {owner:String} AND (a.owner_id, a.profile_id) IN (SELECT t.owner_id, t.profile_id FROM profile_traits AS t FINAL WHERE t.owner_id = {owner:String} AND t.trait = {filter0_key:String} AND t.value != 'null' AND if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value) = {filter0:String})))
      AND ((e.owner_id, e.profile_id) IN (SELECT t.owner_id, t.profile_id FROM profile_traits AS t FINAL WHERE t.owner_id = {owner:String} AND t.trait = {filter1_key:String} AND t.value != 'null' AND ifNull(ifNotFinite(toFloat64OrNull(if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value)), NULL) < {filter1_number:Float64}, 0)) OR e.profile_id = '' AND (e.owner_id, e.anonymous_id) IN (SELECT a.owner_id, a.anonymous_id FROM aliases AS a FINAL WHERE a.owner_id = {owner:String} AND (a.owner_id, a.profile_id) IN (SELECT t.owner_id, t.profile_id FROM profile_traits AS t FINAL WHERE t.owner_id = {owner:String} AND t.trait = {filter1_key:String} AND t.value != 'null' AND ifNull(ifNotFinite(toFloat64OrNull(if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value)), NULL) < {filter1_number:Float64}, 0))))
    GROUP BY e.session_id
)

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0_key String plan
-- filter0 String pro
-- filter1_key String seats
-- filter1_number Float64 5
