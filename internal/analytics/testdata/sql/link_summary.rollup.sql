SELECT
    sum(e.clicks) AS clicks,
    uniqCombined64Merge(17)(e.visits) AS unique_clicks,
    uniqCombined64Merge(17)(e.visitors) AS unique_visitors,
    sum(e.bots) AS bots,
    max(e.last) AS last_clicked
FROM (
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        e.clicks AS clicks,
        e.bots AS bots,
        e.visitors AS visitors,
        e.visits AS visits,
        CAST(e.last, 'DateTime64(3, \'UTC\')') AS last
    FROM clicks_1d AS e
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_date NOT IN {base_days:Array(Date)}
      AND e.dimension = 'target'
    UNION ALL
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        countIf(e.is_bot = 0) AS clicks,
        countIf(e.is_bot != 0) AS bots,
        uniqCombined64StateIf(17)(e.visitor, e.is_bot = 0 AND e.visitor != '') AS visitors,
        uniqCombined64StateIf(17)(e.visitor, toStartOfHour(toDateTime(e.event_time, 'UTC')), e.is_bot = 0 AND e.visitor != '') AS visits,
        maxIf(e.event_time, e.is_bot = 0) AS last
    FROM clicks AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.event_date IN {base_days:Array(Date)}
    GROUP BY slot
) AS e

-- owner String lnk_1
-- from Date 2026-03-23
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-23 18:30:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 18:30:00.000
-- base_days Array(Date) ['2026-03-23','2026-03-30']
