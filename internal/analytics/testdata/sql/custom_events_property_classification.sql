SELECT
    event AS event_name,
    key AS property_key,
    different AS cardinality,
    occurrences AS total_count,
    round(occurrences / events, 4) AS coverage_ratio,
    round(letters / occurrences, 2) AS avg_length,
    longest AS max_length,
    CAST(written > 0 AND numbers = written, 'Bool') AS is_numeric,
    CAST(written > 0 AND booleans = written, 'Bool') AS is_boolean,
    CAST(written > 0 AND dates = written, 'Bool') AS is_date_like,
    CAST(written > 0 AND urls = written, 'Bool') AS is_url_like,
    multiIf(written > 0 AND booleans = written, 'boolean', written > 0 AND numbers = written, 'number', written > 0 AND dates = written, 'date', written > 0 AND urls = written, 'url', written > 0 AND documents = written, 'json', 'string') AS inferred_type,
    multiIf(different <= 50, 'distribution', written > 0 AND numbers = written, 'histogram', written > 0 AND dates = written, 'timeline', different * 2 > occurrences, 'samples', 'top_values') AS render_strategy,
    toJSONString(arrayMap(item -> item.2, top)) AS sample_values
FROM (
    SELECT
        event,
        key,
        sum(times) AS occurrences,
        count() AS different,
        groupArraySorted(5)((-toInt64(times), value)) AS top,
        countIf(value != '') AS written,
        sum(times * lengthUTF8(value)) AS letters,
        max(lengthUTF8(value)) AS longest,
        countIf(match(value, '^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$')) AS numbers,
        countIf(match(value, '^(true|false)$')) AS booleans,
        countIf(match(value, '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$')) AS dates,
        countIf(match(value, '^https?://[^ ]+$')) AS urls,
        countIf(match(value, '^[{[]')) AS documents
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
) AS k
INNER JOIN (
    SELECT e.name AS event, count() AS events
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')
    GROUP BY event
) AS n USING (event)
ORDER BY total_count DESC, event, key
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
