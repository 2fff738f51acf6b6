SELECT
    count() AS activated_profiles,
    countIf(eligible) AS eligible_profiles,
    countIf(retained) AS retained_profiles,
    if(countIf(eligible) = 0, 0, round(100 * countIf(retained) / countIf(eligible), 2)) AS retention_rate
FROM (
    SELECT
        profile, activated_at,
        activated_at + {option_horizon_days:UInt64} * 86400000 AS due,
        due <= toUnixTimestamp64Milli({end:DateTime64(3, 'UTC')}) AS eligible,
        eligible AND arrayExists(t -> t > activated_at AND t <= due, returns) AS retained
    FROM (
        SELECT
            e.profile_id AS profile,
            minIf(toUnixTimestamp64Milli(e.event_time), e.name = {option_activation_event:String} AND e.event_time < {activation_end:DateTime64(3, 'UTC')}) AS activated_at,
            groupArrayIf(toUnixTimestamp64Milli(e.event_time), e.name = {option_return_event:String}) AS returns
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.profile_id != ''
          AND (e.name = {option_activation_event:String} OR e.name = {option_return_event:String})
        GROUP BY profile
        HAVING activated_at > 0
    )
)

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- option_activation_event String signup
-- option_return_event String purchase
-- option_horizon_days UInt64 7
-- option_observation_end String 
-- activation_end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
