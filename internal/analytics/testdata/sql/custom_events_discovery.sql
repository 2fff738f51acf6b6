SELECT
    event AS event_name,
    events AS total_events,
    users AS unique_users,
    visits AS unique_sessions,
    key AS property_key,
    different AS unique_values,
    toJSONString(arrayMap(item -> CAST((item.2, toUInt64(-item.1)), 'Tuple(value String, count UInt64)'), top)) AS top_values
FROM (
    SELECT e.name AS event, count() AS events, uniqExactIf(reinterpretAsUInt128(sipHash128(if(e.anonymous_id != '', e.anonymous_id, concat('\0', e.profile_id)))), e.anonymous_id != '' OR e.profile_id != '') AS users, uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS visits
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')
    GROUP BY event
) AS n
LEFT JOIN (
    SELECT
        event,
        key,
        sum(times) AS occurrences,
        count() AS different,
        groupArraySorted(5)((-toInt64(times), value)) AS top
    FROM (
        SELECT
            e.name AS event,
            (arrayJoin(if(notEmpty(JSONExtractKeysAndValues(e.properties, 'String')), JSONExtractKeysAndValues(e.properties, 'String'), JSONExtractKeysAndValues(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), 'String'))) AS pair).1 AS key,
            substringUTF8(pair.2, 1, 256) AS value,
            count() AS times
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')
        GROUP BY event, key, value
    )
    GROUP BY event, key
) AS k USING (event)
ORDER BY total_events DESC, event, key
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
