SELECT
    e.value AS name,
    e.detail AS country,
    sum(e.clicks) AS clicks
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
      AND e.dimension = 'city'
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
      AND e.dimension = 'city'
    UNION ALL
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        toString(e.city) AS value,
        toString(e.country) AS detail,
        count() AS clicks
    FROM clicks AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.event_date IN {base_days:Array(Date)}
      AND e.is_bot = 0 AND e.city != ''
    GROUP BY slot, value, detail
) AS e
GROUP BY e.value, e.detail
ORDER BY clicks DESC, e.value, e.detail
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String lnk_1
-- from Date 2026-02-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-02-28 23:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 22:00:00.000
-- base_days Array(Date) ['2026-03-30']
-- cut_days Array(Date) ['2026-02-28']
-- limit UInt64 10
-- offset UInt64 0
