SELECT
    argMaxIf(e.anonymous_id, (e.event_time, e.event_key), e.anonymous_id != '') AS visitor_id,
    max(e.profile) AS profile_id,
    max(e.display_name) AS display_name,
    max(e.email) AS email,
    max(e.known) AS identified_at,
    min(e.event_time) AS first_visit,
    max(e.event_time) AS last_visit,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS session_count,
    count() AS total_events,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.path)), e.path != '') AS unique_pages,
    argMaxIf(e.country, (e.event_time, e.event_key), e.country != '') AS country,
    argMaxIf(e.region, (e.event_time, e.event_key), e.country != '') AS region,
    argMaxIf(e.device, (e.event_time, e.event_key), e.device != '') AS device_type,
    argMaxIf(e.browser, (e.event_time, e.event_key), e.browser != '') AS browser_name,
    argMaxIf(e.os, (e.event_time, e.event_key), e.os != '') AS os_name,
    argMinIf(e.referrer, (e.event_time, e.event_key), e.name = 'screen_view') AS referrer,
    countIf(e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')) AS custom_event_count,
    uniqExactIf(e.name, e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')) AS unique_event_names
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
            GROUP BY e.person
            ORDER BY last_visit DESC, e.person
            LIMIT {limit:UInt64} OFFSET {offset:UInt64}
        )
    ) AS page
    SELECT e.*, if(t.display != '', t.display, t.name) AS display_name, t.email AS email, p.first_seen AS known
    FROM (
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
    LEFT JOIN (
        SELECT t.profile_id AS id, anyIf(if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value), t.trait = 'display_name') AS display, anyIf(if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value), t.trait = 'name') AS name,
            anyIf(if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value), t.trait = 'email') AS email
        FROM profile_traits AS t FINAL
        WHERE t.owner_id = {owner:String}
          AND t.trait IN ('display_name', 'name', 'email')
          AND t.value != 'null'
          AND t.profile_id IN (SELECT substring(arrayJoin(page.1), 1 + length('\\0')))
        GROUP BY t.profile_id
    ) AS t ON t.id = e.profile AND e.profile != ''
    LEFT JOIN (
        SELECT p.profile_id AS id, toDateTime64(min(p.first_seen), 3, 'UTC') AS first_seen
        FROM profiles AS p
        WHERE p.owner_id = {owner:String}
          AND p.profile_id IN (SELECT substring(arrayJoin(page.1), 1 + length('\\0')))
        GROUP BY p.profile_id
    ) AS p ON p.id = e.profile AND e.profile != ''
) AS e
GROUP BY e.person
ORDER BY last_visit DESC, e.person
LIMIT {limit:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 25
-- offset UInt64 0
