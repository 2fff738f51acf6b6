SELECT date, value
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
LEFT JOIN (
    SELECT
        bucket,
        count() AS value
    FROM (
        SELECT roundDown(toUnixTimestamp(e.slot), {buckets:Array(UInt32)}) AS bucket
        FROM (
            SELECT
                toDateTime(e.event_date, 'UTC') AS slot,
                e.value AS value,
                e.detail AS detail,
                e.clicks AS clicks
            FROM clicks_1d AS e
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_date NOT IN {base_days:Array(Date)}
              AND e.event_date NOT IN {cut_days:Array(Date)}
              AND e.dimension = 'referrer'
            UNION ALL
            SELECT
                e.slot AS slot,
                e.value AS value,
                e.detail AS detail,
                e.clicks AS clicks
            FROM clicks_15m AS e
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_date NOT IN {base_days:Array(Date)}
              AND e.slot >= {start:DateTime64(3, 'UTC')}
              AND e.slot < {end:DateTime64(3, 'UTC')}
              AND e.event_date IN {cut_days:Array(Date)}
              AND e.dimension = 'referrer'
            UNION ALL
            SELECT
                (arrayJoin([(e.slot, toUInt64(e.clicks)), (toDateTime(e.event_date, 'UTC'), toUInt64(-e.clicks))]) AS part).1 AS slot,
                e.value AS value,
                e.detail AS detail,
                part.2 AS clicks
            FROM clicks_15m AS e
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_date NOT IN {base_days:Array(Date)}
              AND e.event_date NOT IN {cut_days:Array(Date)}
              AND roundDown(toUnixTimestamp(e.slot), {buckets:Array(UInt32)}) != roundDown(toUnixTimestamp(toDateTime(e.event_date, 'UTC')), {buckets:Array(UInt32)})
              AND e.dimension = 'referrer'
            UNION ALL
            SELECT
                toStartOfFifteenMinutes(toDateTime(e.event_time, 'UTC')) AS slot,
                toString(e.referrer_host) AS value,
                toString('') AS detail,
                count() AS clicks
            FROM clicks AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.event_date IN {base_days:Array(Date)}
              AND e.is_bot = 0
            GROUP BY slot, value, detail
        ) AS e
        WHERE e.value != ''
        GROUP BY bucket, e.value
        HAVING sum(e.clicks) > 0
    )
    GROUP BY bucket
) AS measured USING (bucket)
ORDER BY bucket
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String lnk_1
-- from Date 2026-03-23
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-23 23:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 22:00:00.000
-- base_days Array(Date) ['2026-03-27']
-- cut_days Array(Date) ['2026-03-23','2026-03-30']
-- buckets Array(UInt32) [1774306800,1774393200,1774479600,1774566000,1774652400,1774738800,1774821600]
-- labels Array(String) ['2026-03-24','2026-03-25','2026-03-26','2026-03-27','2026-03-28','2026-03-29','2026-03-30']
-- limit UInt64 10000
-- offset UInt64 0
