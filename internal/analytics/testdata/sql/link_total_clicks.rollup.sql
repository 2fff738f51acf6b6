SELECT
    sum(e.clicks) AS total
FROM (
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        e.clicks AS clicks
    FROM clicks_1d AS e
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.dimension = 'target'
) AS e

-- owner String lnk_1
-- from Date 2026-03-01
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-01 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
