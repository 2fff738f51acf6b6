SELECT
    argMaxIf(e.visitor, e.last, e.visitor != '') AS visitor_id,
    min(e.first) AS first_visit,
    max(e.last) AS last_visit,
    countIf(e.session != '') AS total_sessions,
    sum(e.views) AS total_pageviews,
    round(sum(e.took), 3) AS total_duration,
    toString(total_duration) AS total_duration_formatted,
    max(e.profile) AS profile_id,
    argMaxIf(e.device, e.last, e.device != '') AS device,
    argMaxIf(e.browser, e.last, e.browser != '') AS browser,
    argMaxIf(e.os, e.last, e.os != '') AS os,
    argMaxIf(e.place.1, e.last, e.place.1 != '') AS country,
    argMaxIf(e.place.2, e.last, e.place.1 != '') AS region
FROM (
    SELECT
        e.person AS person, e.session_id AS session, max(e.profile) AS profile, min(e.event_time) AS first, max(e.event_time) AS last,
        countIf(e.name = 'screen_view') AS views, if(session = '', 0, ifNull(sumOrNullIf(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL) >= 0), (toUnixTimestamp64Milli(max(e.event_time)) - toUnixTimestamp64Milli(min(e.event_time))) / 1000)) AS took,
        argMaxIf(e.anonymous_id, (e.event_time, e.event_key), e.anonymous_id != '') AS visitor, argMaxIf(e.device, (e.event_time, e.event_key), e.device != '') AS device, argMaxIf(e.browser, (e.event_time, e.event_key), e.browser != '') AS browser,
        argMaxIf(e.os, (e.event_time, e.event_key), e.os != '') AS os, argMaxIf((e.country, e.region), (e.event_time, e.event_key), e.country != '') AS place
    FROM (
        WITH (
            SELECT (groupArray(id), min(first_day), max(last_day), groupArray(number))
            FROM (
                SELECT
                    e.person AS id,
                    toDate(min(e.event_time)) AS first_day,
                    toDate(max(e.event_time)) AS last_day,
                    row_number() OVER (ORDER BY min(e.event_time), e.person) AS number,
                    max(e.event_time) AS last_visit
                FROM (
                    SELECT e.*, if(e.profile_id != '', e.profile_id, a.user) AS profile, if(profile != '', concat('\\0', profile), e.anonymous_id) AS person
                    FROM (
                        SELECT *
                        FROM events AS e FINAL
                        WHERE e.owner_id = {owner:String}
                          AND e.event_date BETWEEN {from:Date} AND {to:Date}
                          AND e.event_time >= {start:DateTime64(3, 'UTC')}
                          AND e.event_time < {end:DateTime64(3, 'UTC')}
                    ) AS e
                    LEFT JOIN (
                        SELECT a.anonymous_id AS visitor, a.profile_id AS user
                        FROM aliases AS a FINAL
                        WHERE a.owner_id = {owner:String}
                    ) AS a ON a.visitor = e.anonymous_id
                ) AS e
                WHERE 1
                  AND e.person != ''
                  AND e.person IN (
                        SELECT e.person
                        FROM (
                            SELECT e.*, if(e.profile_id != '', e.profile_id, a.user) AS profile, if(profile != '', concat('\\0', profile), e.anonymous_id) AS person
                            FROM (
                                SELECT *
                                FROM events AS e FINAL
                                WHERE e.owner_id = {owner:String}
                                  AND e.event_date BETWEEN {from:Date} AND {to:Date}
                                  AND e.event_time >= {start:DateTime64(3, 'UTC')}
                                  AND e.event_time < {end:DateTime64(3, 'UTC')}
                            ) AS e
                            LEFT JOIN (
                                SELECT a.anonymous_id AS visitor, a.profile_id AS user
                                FROM aliases AS a FINAL
                                WHERE a.owner_id = {owner:String}
                            ) AS a ON a.visitor = e.anonymous_id
                        ) AS e
                        WHERE 1
                          AND e.person != ''
                          AND (arrayExists(v -> v = {filter0:String}, [e.anonymous_id, e.profile]) OR e.profile != '' AND e.profile IN (SELECT user FROM (SELECT a.anonymous_id AS v, a.profile_id AS user FROM aliases AS a FINAL WHERE a.owner_id = {owner:String}) WHERE v = {filter0:String}))
                  )
                GROUP BY e.person
                ORDER BY last_visit DESC, e.person
                LIMIT {limit:UInt64} OFFSET {offset:UInt64}
            )
        ) AS page
        SELECT e.*
        FROM (
            SELECT e.*, if(e.profile_id != '', e.profile_id, a.user) AS profile, if(profile != '', concat('\\0', profile), e.anonymous_id) AS person
            FROM (
                SELECT *
                FROM events AS e FINAL
                WHERE e.owner_id = {owner:String}
                  AND e.event_date BETWEEN {from:Date} AND {to:Date}
                  AND e.event_time >= {start:DateTime64(3, 'UTC')}
                  AND e.event_time < {end:DateTime64(3, 'UTC')}
                  AND e.event_date BETWEEN page.2 AND page.3
            ) AS e
            LEFT JOIN (
                SELECT a.anonymous_id AS visitor, a.profile_id AS user
                FROM aliases AS a FINAL
                WHERE a.owner_id = {owner:String}
            ) AS a ON a.visitor = e.anonymous_id
        ) AS e
        WHERE 1
          AND e.person IN (SELECT arrayJoin(page.1))
    ) AS e
    GROUP BY e.person, e.session_id
) AS e
GROUP BY e.person
ORDER BY last_visit DESC, e.person
LIMIT {limit:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String x
-- limit UInt64 25
-- offset UInt64 0
