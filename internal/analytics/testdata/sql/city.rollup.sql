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
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_date NOT IN {base_days:Array(Date)}
        UNION ALL
        SELECT
            toDateTime(e.event_date, 'UTC') AS slot,
            count() AS events,
            countIf(e.name = 'screen_view') AS views,
            countIf(e.name = 'screen_view' AND e.session_id != '') AS session_views,
            uniqCombined64StateIf(17)(e.anonymous_id, e.anonymous_id != '') AS visitors,
            uniqCombined64StateIf(17)(e.session_id, e.session_id != '') AS sessions
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.event_date IN {base_days:Array(Date)}
        GROUP BY slot
    ) AS e), 0), 2) AS percentage,
    e.detail AS country_code,
    e.detail AS country_name,
    e.detail AS country
FROM (
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        e.value AS value,
        e.detail AS detail,
        e.views AS views,
        e.visitors AS visitors
    FROM views_1d AS e
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_date NOT IN {base_days:Array(Date)}
      AND e.dimension = 'city'
    UNION ALL
    SELECT
        toDateTime(e.event_date, 'UTC') AS slot,
        toString(e.city) AS value,
        toString(e.country) AS detail,
        count() AS views,
        uniqCombined64StateIf(14)(e.anonymous_id, e.anonymous_id != '') AS visitors
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.event_date IN {base_days:Array(Date)}
      AND e.name = 'screen_view' AND e.city != ''
    GROUP BY slot, value, detail
) AS e
GROUP BY e.value, e.detail
ORDER BY visitors DESC, e.value, e.detail
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-02-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-02-28 23:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-30 22:00:00.000
-- base_days Array(Date) ['2026-02-28','2026-03-30']
-- limit UInt64 100
-- offset UInt64 0
