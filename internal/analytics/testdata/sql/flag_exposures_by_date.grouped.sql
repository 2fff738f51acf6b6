SELECT date, variant, exposures, visitors
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
INNER JOIN (
    SELECT
        bucket,
        variant,
        toUInt64(round(sum(told))) AS exposures,
        toUInt64(round(sum(weight))) AS visitors
    FROM (
        SELECT
            roundDown(toUnixTimestamp(e.event_time), {buckets:Array(UInt32)}) AS bucket,
            CAST(e.variant, 'String') AS variant,
            if(e.profile_id != '', concat('\0', e.profile_id), e.anonymous_id) AS visitor,
            sum(100 / e.sample_percent) AS told, 100 / max(e.sample_percent) AS weight
        FROM flag_exposures AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.name = {filter0:String}
          AND e.environment IN {filter1:Array(String)}
          AND NOT (e.variant = {filter2:String})
        GROUP BY bucket, variant, visitor
    )
    GROUP BY bucket, variant
) AS measured USING (bucket)
ORDER BY bucket, variant
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-23
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-23 23:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 22:00:00.000
-- filter0 String checkout
-- filter1 Array(String) ['','staging']
-- filter2 String x
-- buckets Array(UInt32) [1774306800,1774393200,1774479600,1774566000,1774652400,1774738800,1774821600]
-- labels Array(String) ['2026-03-24','2026-03-25','2026-03-26','2026-03-27','2026-03-28','2026-03-29','2026-03-30']
-- limit UInt64 10000
-- offset UInt64 0
