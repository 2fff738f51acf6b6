SELECT date AS minute, pageviews, events, visitors
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
LEFT JOIN (
    SELECT
        roundDown(toUnixTimestamp(e.event_time), {buckets:Array(UInt32)}) AS bucket,
        countIf(e.name = 'screen_view') AS pageviews,
        count() AS events,
        uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
    GROUP BY bucket
) AS measured USING (bucket)
ORDER BY bucket
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 09:50:30.000
-- end DateTime64(3, 'UTC') 2026-03-30 10:20:30.001
-- buckets Array(UInt32) [1774864230,1774864260,1774864320,1774864380,1774864440,1774864500,1774864560,1774864620,1774864680,1774864740,1774864800,1774864860,1774864920,1774864980,1774865040,1774865100,1774865160,1774865220,1774865280,1774865340,1774865400,1774865460,1774865520,1774865580,1774865640,1774865700,1774865760,1774865820,1774865880,1774865940,1774866000]
-- labels Array(String) ['2026-03-30 09:50:00','2026-03-30 09:51:00','2026-03-30 09:52:00','2026-03-30 09:53:00','2026-03-30 09:54:00','2026-03-30 09:55:00','2026-03-30 09:56:00','2026-03-30 09:57:00','2026-03-30 09:58:00','2026-03-30 09:59:00','2026-03-30 10:00:00','2026-03-30 10:01:00','2026-03-30 10:02:00','2026-03-30 10:03:00','2026-03-30 10:04:00','2026-03-30 10:05:00','2026-03-30 10:06:00','2026-03-30 10:07:00','2026-03-30 10:08:00','2026-03-30 10:09:00','2026-03-30 10:10:00','2026-03-30 10:11:00','2026-03-30 10:12:00','2026-03-30 10:13:00','2026-03-30 10:14:00','2026-03-30 10:15:00','2026-03-30 10:16:00','2026-03-30 10:17:00','2026-03-30 10:18:00','2026-03-30 10:19:00','2026-03-30 10:20:00']
-- limit UInt64 100
-- offset UInt64 0
