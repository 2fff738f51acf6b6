SELECT
    step,
    {option_steps:Array(String)}[step] AS name,
    any(here) AS visitors,
    if(any(first) = 0, 0, round(100 * any(here) / any(first), 2)) AS conversion_rate,
    if(any(before) = 0, 0, round(100 * any(here) / any(before), 2)) AS step_conversion_rate,
    ifNotFinite(round(any(wait)) / 1000, 0) AS median_seconds
FROM (
    SELECT step, reached[step] AS here, reached[1] AS first, reached[greatest(step - 1, 1)] AS before, medians[step] AS wait
    FROM (
        SELECT sumForEach(arrayMap(w -> w >= 0, waits)) AS reached, [quantileExactInclusiveIf(0.5)(waits[1], waits[1] >= 0), quantileExactInclusiveIf(0.5)(waits[2], waits[2] >= 0)] AS medians
        FROM (
            SELECT waits2 AS waits
            FROM (
                SELECT
                    visitor, times, masks,
                    arrayPushFront(arrayPopBack(began1), 0) AS way,
                    arrayMap((t, mask, start) -> bitTest(mask, 1) AND start > 0 AND t - start <= {option_window:UInt64} * 1000, times, masks, way) AS taken,
                    arrayFill(t -> t > 0, arrayMap((is, start) -> if(is, start, 0), taken, way)) AS began2,
                    arrayFill(t -> t > 0, arrayMap((is, t) -> if(is, t, 0), taken, times)) AS latest2,
                    indexOf(taken, 1) AS first,
                    arrayPushBack(waits1, if(first = 0, -1, times[first] - latest1[first - 1])) AS waits2
                FROM (
                    SELECT
                        if(e.anonymous_id != '', e.anonymous_id, concat('\0', e.profile_id)) AS visitor,
                        arraySort(groupArray((toUnixTimestamp64Milli(e.event_time), bitShiftLeft(toUInt16(ifNull(e.path = {option_steps_0_path:String}, 0)), 0) + bitShiftLeft(toUInt16(ifNull(e.name = {option_steps_1_event:String}, 0)), 1)))) AS taken,
                        taken.1 AS times,
                        taken.2 AS masks,
                        arrayFill(t -> t > 0, arrayMap((t, mask) -> if(bitTest(mask, 0), t, 0), times, masks)) AS began1,
                        began1 AS latest1,
                        [if(began1[-1] > 0, 0, -1)] AS waits1
                    FROM events AS e FINAL
                    WHERE e.owner_id = {owner:String}
                      AND e.event_date BETWEEN {from:Date} AND {to:Date}
                      AND e.event_time >= {start:DateTime64(3, 'UTC')}
                      AND e.event_time < {end:DateTime64(3, 'UTC')}
                      AND (e.anonymous_id != '' OR e.profile_id != '')
                      AND bitShiftLeft(toUInt16(ifNull(e.path = {option_steps_0_path:String}, 0)), 0) + bitShiftLeft(toUInt16(ifNull(e.name = {option_steps_1_event:String}, 0)), 1) > 0
                    GROUP BY visitor
                )
            )
        )
    )
    ARRAY JOIN range(1, 3) AS step
)
GROUP BY step
ORDER BY step, step
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- option_steps Array(String) ['/pricing','signup']
-- option_steps_0_path String /pricing
-- option_steps_1_event String signup
-- option_window UInt64 86400
-- option_per String visitor
-- limit UInt64 100
-- offset UInt64 0
