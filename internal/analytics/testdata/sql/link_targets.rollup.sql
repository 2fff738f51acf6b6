SELECT
    e.value AS rule_id,
    e.detail AS variant_id,
    sum(e.clicks) AS clicks,
    uniqCombined64Merge(17)(e.visitors) AS unique_visitors
FROM (
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        e.value AS value,
        e.detail AS detail,
        e.clicks AS clicks,
        e.bots AS bots,
        e.visitors AS visitors,
        e.visits AS visits,
        CAST(e.last, 'DateTime64(3, \'UTC\')') AS last
    FROM clicks_1d AS e
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.dimension = 'target' AND e.clicks > 0
) AS e
GROUP BY e.value, e.detail
ORDER BY clicks DESC, e.value, e.detail
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String lnk_1
-- from Date 2026-03-01
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-01 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 10
-- offset UInt64 0
