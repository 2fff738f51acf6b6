SELECT
    {period_labels:Array(String)}[cohort_at] AS cohort,
    since AS period,
    size AS cohort_size,
    still AS visitors,
    round(100 * still / size, 2) AS percentage
FROM (
    SELECT cohort AS cohort_at, since, size, if(since = 0, size, returned.2[indexOf(returned.1, cohort + since)]) AS still
    FROM (
        SELECT cohort, count() AS size, sumMap(returns, arrayWithConstant(length(returns), 1)) AS returned
        FROM (
            SELECT
                if(e.anonymous_id != '', e.anonymous_id, concat('\0', e.profile_id)) AS visitor,
                minIf(indexOf({periods:Array(UInt32)}, roundDown(toUnixTimestamp(e.event_time), {periods:Array(UInt32)})), ({option_activation_event:String} = '' OR e.name = {option_activation_event:String})) AS cohort,
                arrayFilter(i -> i > cohort, groupUniqArrayIf(indexOf({periods:Array(UInt32)}, roundDown(toUnixTimestamp(e.event_time), {periods:Array(UInt32)})), ({option_return_event:String} = '' OR e.name = {option_return_event:String}))) AS returns
            FROM events AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND (e.anonymous_id != '' OR e.profile_id != '')
              AND (({option_activation_event:String} = '' OR e.name = {option_activation_event:String}) OR ({option_return_event:String} = '' OR e.name = {option_return_event:String}))
            GROUP BY visitor
            HAVING cohort > 0
        )
        GROUP BY cohort
    )
    ARRAY JOIN range(length({periods:Array(UInt32)}) - cohort + 1) AS since
)
GROUP BY cohort_at, since, size, still
ORDER BY cohort, cohort_at, since
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- option_activation_event String 
-- option_return_event String 
-- option_period String week
-- periods Array(UInt32) [1774656000,1774742400]
-- period_labels Array(String) ['2026-03-28','2026-03-29']
-- limit UInt64 10000
-- offset UInt64 0
