SELECT
    e.session_id AS session_id,
    min(e.event_time) AS first_visit,
    max(e.event_time) AS last_visit,
    countIf(e.name = 'screen_view') AS page_views,
    argMinIf(e.anonymous_id, (e.event_time, e.event_key), e.anonymous_id != '') AS visitor_id,
    argMinIf(e.country, (e.event_time, e.event_key), e.country != '') AS country,
    argMinIf(e.referrer, (e.event_time, e.event_key), e.name = 'screen_view') AS referrer,
    argMinIf(e.device, (e.event_time, e.event_key), e.device != '') AS device_type,
    argMinIf(e.browser, (e.event_time, e.event_key), e.browser != '') AS browser_name,
    argMinIf(e.os, (e.event_time, e.event_key), e.os != '') AS os_name,
    concat('[', arrayStringConcat(arrayMap(line -> line.3, groupArraySorted(500)((e.event_time, e.event_key, concat('[', toJSONString(e.event_id), ',', concat('"', replaceOne(toString(e.event_time), ' ', 'T'), 'Z"'), ',', toJSONString(CAST(e.name, 'String')), ',', toJSONString(e.path), ',', if(e.properties = '', '{}', e.properties), ']')))), ','), ']') AS events
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
            GROUP BY e.session_id
            ORDER BY last_visit DESC, e.session_id
            LIMIT {limit:UInt64} OFFSET {offset:UInt64}
        )
    ) AS page
    SELECT e.*
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
) AS e
GROUP BY e.session_id
ORDER BY last_visit DESC, e.session_id
LIMIT {limit:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
