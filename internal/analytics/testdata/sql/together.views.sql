SELECT
    toUInt64(indexOf(['path', 'city', 'browser'], e.dimension) - 1) AS set,
    e.value AS value,
    e.detail AS detail,
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
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
    ) AS e), 0), 2) AS percentage
FROM (
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        e.dimension AS dimension,
        e.value AS value,
        e.detail AS detail,
        e.views AS views,
        e.visitors AS visitors
    FROM views_1d AS e
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.dimension IN ('path', 'city', 'browser')
) AS e
WHERE (e.dimension, e.value, e.detail) IN (
    SELECT e.dimension, e.value, e.detail
    FROM (
        SELECT
            toDateTime(e.event_date, 'UTC') AS slot,
            e.dimension AS dimension,
            e.value AS value,
            e.detail AS detail,
            e.views AS views,
            e.visitors AS visitors
        FROM views_1d AS e
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.dimension IN ('path', 'city', 'browser')
    ) AS e
    GROUP BY e.dimension, e.value, e.detail
    ORDER BY sum(e.views) DESC, e.value, e.detail
    LIMIT {offset:UInt64}, {limit:UInt64} BY e.dimension
)
GROUP BY e.dimension, e.value, e.detail
ORDER BY set, pageviews DESC, e.value, e.detail
SETTINGS merge_tree_min_rows_for_concurrent_read = 1024, merge_tree_min_bytes_for_concurrent_read = 1

-- owner String web_1
-- from Date 2026-03-01
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-01 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 10
-- offset UInt64 10
