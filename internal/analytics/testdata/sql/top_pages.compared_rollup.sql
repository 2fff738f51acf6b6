SELECT
    shown.name AS name,
    shown.pageviews AS pageviews,
    shown.visitors AS visitors,
    shown.percentage AS percentage,
    concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('"', name, '":', toString(then)), ['pageviews', 'visitors', 'percentage'], [ifNotFinite(toFloat64(ifNull(shown.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.percentage, 0)), 0)], [ifNotFinite(toFloat64(ifNull(earlier.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.percentage, 0)), 0)]), ','), '}') AS previous,
    concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('"', name, '":', if(isFinite((round(100 * (now - then) / abs(then), 2) + 0)), toString((round(100 * (now - then) / abs(then), 2) + 0)), 'null')), ['pageviews', 'visitors', 'percentage'], [ifNotFinite(toFloat64(ifNull(shown.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(shown.percentage, 0)), 0)], [ifNotFinite(toFloat64(ifNull(earlier.pageviews, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.visitors, 0)), 0), ifNotFinite(toFloat64(ifNull(earlier.percentage, 0)), 0)]), ','), '}') AS change
FROM (
    SELECT *, rowNumberInAllBlocks() AS row
    FROM (
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
            ) AS e), 0), 2) AS percentage
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
                WHERE e.owner_id = {owner:String}
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
    )
) AS shown
LEFT JOIN (
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
              AND e.event_date BETWEEN {previous_from:Date} AND {previous_to:Date}
              AND e.event_date NOT IN {previous_base_days:Array(Date)}
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
              AND e.event_date BETWEEN {previous_from:Date} AND {previous_to:Date}
              AND e.event_time >= {previous_start:DateTime64(3, 'UTC')}
              AND e.event_time < {previous_end:DateTime64(3, 'UTC')}
              AND e.event_date IN {previous_base_days:Array(Date)}
            GROUP BY slot
        ) AS e), 0), 2) AS percentage
    FROM (
        SELECT
            toDateTime(e.event_date, 'UTC') AS slot,
            e.value AS value,
            e.detail AS detail,
            e.views AS views,
            e.visitors AS visitors
        FROM views_1d AS e
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {previous_from:Date} AND {previous_to:Date}
          AND e.event_date NOT IN {previous_base_days:Array(Date)}
          AND e.dimension = 'path'
        UNION ALL
        SELECT
            toDateTime(e.event_date, 'UTC') AS slot,
            toString(e.path) AS value,
            toString('') AS detail,
            count() AS views,
            uniqCombined64StateIf(14)(e.anonymous_id, e.anonymous_id != '') AS visitors
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {previous_from:Date} AND {previous_to:Date}
          AND e.event_time >= {previous_start:DateTime64(3, 'UTC')}
          AND e.event_time < {previous_end:DateTime64(3, 'UTC')}
          AND e.event_date IN {previous_base_days:Array(Date)}
          AND e.name = 'screen_view' AND e.path != ''
        GROUP BY slot, value, detail
    ) AS e
    GROUP BY e.value
) AS earlier ON shown.name = earlier.name
ORDER BY shown.row

-- owner String web_1
-- from Date 2026-03-24
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-24 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
-- previous_from Date 2026-03-17
-- previous_to Date 2026-03-23
-- previous_start DateTime64(3, 'UTC') 2026-03-17 00:00:00.000
-- previous_end DateTime64(3, 'UTC') 2026-03-24 00:00:00.000
-- previous_base_days Array(Date) ['2026-03-21']
