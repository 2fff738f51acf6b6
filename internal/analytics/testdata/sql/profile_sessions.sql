SELECT
    e.session_id AS session_id,
    concat('Session ', toString(e.number)) AS session_name,
    e.first AS first_visit,
    e.last AS last_visit,
    round(e.took, 2) AS duration,
    toString(duration) AS duration_formatted,
    e.views AS page_views,
    e.pages AS unique_pages,
    e.device AS device,
    e.browser AS browser,
    e.os AS os,
    e.place.1 AS country,
    e.place.2 AS region,
    e.referrer AS referrer,
    concat('[', arrayStringConcat(arrayMap(line -> line.3, e.happened), ','), ']') AS events,
    concat('[', arrayStringConcat(arrayMap(line -> line.3, e.measured), ','), ']') AS web_vitals
FROM (
    WITH (
        SELECT (groupArray(id), min(first_day), max(last_day), groupArray(number))
        FROM (
            SELECT
                e.session_id AS id,
                toDate(min(e.event_time)) AS first_day,
                toDate(max(e.event_time)) AS last_day,
                row_number() OVER (ORDER BY min(e.event_time), e.session_id) AS number,
                max(e.event_time) AS last_visit
            FROM events AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.session_id != ''
              AND e.session_id IN (
                    SELECT e.session_id
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
                      AND e.session_id != ''
                      AND (arrayExists(v -> v = {filter0:String}, [e.anonymous_id, e.profile]) OR e.profile != '' AND e.profile IN (SELECT user FROM (SELECT a.anonymous_id AS v, a.profile_id AS user FROM aliases AS a FINAL WHERE a.owner_id = {owner:String}) WHERE v = {filter0:String}))
              )
            GROUP BY e.session_id
            ORDER BY last_visit DESC, e.session_id
            LIMIT {limit:UInt64} OFFSET {offset:UInt64}
        )
    ) AS page
    SELECT s.*, arraySlice(arraySort(arrayConcat(s.lines, f.lines)), 1, 500) AS happened, v.lines AS measured
    FROM (
        SELECT e.session_id AS id, groupArraySorted(500)((e.event_time, e.event_key, concat('[', toJSONString(e.event_id), ',', concat('"', replaceOne(toString(e.event_time), ' ', 'T'), 'Z"'), ',', toJSONString(CAST(e.name, 'String')), ',', toJSONString(e.path), ',', if(e.properties = '', '{}', e.properties), ',', multiIf(e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement'), '"custom"', e.name IN ('link_out', 'outgoing_link'), '"outgoing_link"', '"analytics"'), ']'))) AS lines, e.session_id AS session_id, min(e.event_time) AS first, max(e.event_time) AS last, ifNull(sumOrNullIf(if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL), if(e.name = 'page_exit', if(bitTest(e.measured, 3), toNullable(toFloat64(e.time_on_page)), JSONExtract(e.properties, 'time_on_page', 'Nullable(Float64)')), NULL) >= 0), (toUnixTimestamp64Milli(max(e.event_time)) - toUnixTimestamp64Milli(min(e.event_time))) / 1000) AS took, countIf(e.name = 'screen_view') AS views, uniqExactIf(e.path, e.name = 'screen_view' AND e.path != '') AS pages, argMinIf(e.device, (e.event_time, e.event_key), e.device != '') AS device, argMinIf(e.browser, (e.event_time, e.event_key), e.browser != '') AS browser, argMinIf(e.os, (e.event_time, e.event_key), e.os != '') AS os, argMinIf((e.country, e.region), (e.event_time, e.event_key), e.country != '') AS place, argMinIf(e.referrer, (e.event_time, e.event_key), e.name = 'screen_view') AS referrer, any(page.4[indexOf(page.1, e.session_id)]) AS number
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.event_date BETWEEN page.2 AND page.3
          AND e.session_id IN (SELECT arrayJoin(page.1))
          AND (e.event_date, e.name, e.event_key) IN (
            SELECT e.event_date, e.name, e.event_key
            FROM events AS e
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.event_date BETWEEN page.2 AND page.3
              AND e.session_id IN (SELECT arrayJoin(page.1))
          )
        GROUP BY e.session_id
    ) AS s
    LEFT JOIN (
        SELECT e.session_id AS id, groupArraySorted(500)((e.event_time, e.event_key, concat('[', toJSONString(e.event_id), ',', concat('"', replaceOne(toString(e.event_time), ' ', 'T'), 'Z"'), ',', toJSONString(CAST(e.name, 'String')), ',', toJSONString(e.path), ',', toJSONString(map('message', e.message)), ',', '"error"', ']'))) AS lines
        FROM errors AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id IN (SELECT arrayJoin(page.1))
          AND (e.event_date, e.name, e.event_key) IN (
            SELECT e.event_date, e.name, e.event_key
            FROM errors AS e
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.session_id IN (SELECT arrayJoin(page.1))
          )
        GROUP BY e.session_id
    ) AS f ON f.id = s.session_id
    LEFT JOIN (
        SELECT e.session_id AS id, groupArraySorted(500)((e.event_time, e.event_key, concat('[', toJSONString(CAST(e.name, 'String')), ',', toJSONString(e.value), ',', concat('"', replaceOne(toString(e.event_time), ' ', 'T'), 'Z"'), ',', toJSONString(e.path), ']'))) AS lines
        FROM vitals AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id IN (SELECT arrayJoin(page.1))
          AND (e.event_date, e.name, e.event_key) IN (
            SELECT e.event_date, e.name, e.event_key
            FROM vitals AS e
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.session_id IN (SELECT arrayJoin(page.1))
          )
        GROUP BY e.session_id
    ) AS v ON v.id = s.session_id
) AS e
ORDER BY last_visit DESC, e.session_id
LIMIT {limit:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String x
-- limit UInt64 25
-- offset UInt64 0
