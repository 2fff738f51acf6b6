SELECT
    event AS event_name,
    key AS property_key,
    value AS property_value,
    times AS count,
    occurrences AS total,
    round(100 * times / occurrences, 2) AS percentage,
    different AS cardinality
FROM (
    SELECT event, key, occurrences, different, position, item.2 AS value, toUInt64(-item.1) AS times
    FROM (
        SELECT
            event,
            key,
            sum(times) AS occurrences,
            count() AS different,
            groupArraySorted(50)((-toInt64(times), value)) AS top
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
        HAVING different <= 50
    )
    ARRAY JOIN top AS item, arrayEnumerate(top) AS position
)
ORDER BY count DESC, event, key, position
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
