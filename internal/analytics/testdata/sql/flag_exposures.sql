SELECT
    variant,
    toUInt64(round(sum(told))) AS exposures,
    toUInt64(round(sum(weight))) AS visitors
FROM (
    SELECT
        toString(e.variant) AS variant, if(e.profile_id != '', concat('\0', e.profile_id), e.anonymous_id) AS visitor,
        sum(100 / e.sample_percent) AS told, 100 / max(e.sample_percent) AS weight
    FROM flag_exposures AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.name = {filter0:String}
    GROUP BY variant, visitor
)
GROUP BY variant
ORDER BY visitors DESC, variant
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String x
-- limit UInt64 100
-- offset UInt64 0
