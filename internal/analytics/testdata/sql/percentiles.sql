SELECT
    percentile,
    round(any(found), 4) AS value,
    any(amount) AS count,
    any(least) AS min,
    any(most) AS max,
    round(any(average), 4) AS avg
FROM (
    SELECT
        percentile, length(numbers) AS amount, numbers[1] AS least, numbers[-1] AS most, arrayAvg(numbers) AS average,
        percentile / 100 * (length(numbers) - 1) AS place,
        numbers[toUInt64(floor(place)) + 1] AS low,
        numbers[toUInt64(ceil(place)) + 1] AS high,
        low + (high - low) * (place - floor(place)) AS found
    FROM (
        SELECT
            arraySort(groupArray(assumeNotNull(ifNotFinite(toFloat64OrNull(if(JSONExtractString(e.properties, {option_property:String}) != '', JSONExtractString(e.properties, {option_property:String}), JSONExtractString(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {option_property:String}))), NULL)))) AS numbers
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND ifNotFinite(toFloat64OrNull(if(JSONExtractString(e.properties, {option_property:String}) != '', JSONExtractString(e.properties, {option_property:String}), JSONExtractString(if(e.properties = '' OR isValidJSON(e.properties), '', replaceRegexpAll(replaceRegexpAll(e.properties, '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2'), '([:,\\[](?:-9[2-9][0-9]{17}|-[0-9]{20,}|1[89][0-9]{18}|[2-9][0-9]{19}|[0-9]{21,}))([,}\\]])', '\\1e0\\2')), {option_property:String}))), NULL) IS NOT NULL
        GROUP BY ''
    )
    ARRAY JOIN arrayDistinct({option_percentiles:Array(Float64)}) AS percentile
)
GROUP BY percentile
ORDER BY percentile, percentile
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- option_property String price
-- option_percentiles Array(Float64) [50,75,90,95,99]
-- limit UInt64 100
-- offset UInt64 0
