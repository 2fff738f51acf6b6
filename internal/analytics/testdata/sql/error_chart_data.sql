SELECT date, totalErrors, affectedUsers
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
LEFT JOIN (
    SELECT
        roundDown(toUnixTimestamp(e.event_time), {buckets:Array(UInt32)}) AS bucket,
        count() AS totalErrors,
        uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS affectedUsers
    FROM errors AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
    GROUP BY bucket
) AS measured USING (bucket)
ORDER BY bucket
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- buckets Array(UInt32) [1774656000,1774742400,1774828800]
-- labels Array(String) ['2026-03-28','2026-03-29','2026-03-30']
-- limit UInt64 10000
-- offset UInt64 0
