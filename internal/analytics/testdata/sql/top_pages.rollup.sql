SELECT
    e.value AS name,
    sum(e.views) AS pageviews,
    uniqCombined64Merge(14)(e.visitors) AS visitors,
    round(100 * sum(e.views) / ifNull((SELECT sum(e.views) FROM (
        SELECT
            toDateTime(e.event_date, 'UTC') AS slot,
            e.events AS events,
            e.views AS views,
            e.session_views AS session_views,
            e.visitors AS visitors,
            e.sessions AS sessions
        FROM traffic_1d AS e
        WHERE e.owner_id IN (SELECT owner_id FROM usage_1d WHERE organization_id = {owner:String})
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
    ) AS e), 0), 2) AS percentage
FROM (
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        e.value AS value,
        e.detail AS detail,
        e.views AS views,
        e.visitors AS visitors
    FROM views_1d AS e
    WHERE e.owner_id IN (SELECT owner_id FROM usage_1d WHERE organization_id = {owner:String})
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.dimension = 'path'
) AS e
WHERE (e.value) IN (
    SELECT e.value
    FROM (
        SELECT
            toDateTime(e.event_date, 'UTC') AS slot,
            e.value AS value,
            e.detail AS detail,
            e.views AS views,
            e.visitors AS visitors
        FROM views_1d AS e
        WHERE e.owner_id IN (SELECT owner_id FROM usage_1d WHERE organization_id = {owner:String})
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.dimension = 'path'
    ) AS e
    GROUP BY e.value
    ORDER BY sum(e.views) DESC, e.value
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
)
GROUP BY e.value
ORDER BY pageviews DESC, e.value
LIMIT {limit:UInt64}

-- owner String org_1
-- from Date 2026-03-01
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-01 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
