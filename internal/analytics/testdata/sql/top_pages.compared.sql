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
            e.path AS name,
            count() AS pageviews,
            uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors,
            round(100 * count() / sum(count()) OVER (), 2) AS percentage
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.name = 'screen_view'
          AND e.country = {filter0:String}
        GROUP BY e.path
        QUALIFY e.path != ''
        ORDER BY pageviews DESC, e.path
        LIMIT {limit:UInt64} OFFSET {offset:UInt64}
    )
) AS shown
LEFT JOIN (
    SELECT
        e.path AS name,
        count() AS pageviews,
        uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors,
        round(100 * count() / sum(count()) OVER (), 2) AS percentage
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {previous_from:Date} AND {previous_to:Date}
      AND e.event_time >= {previous_start:DateTime64(3, 'UTC')}
      AND e.event_time < {previous_end:DateTime64(3, 'UTC')}
      AND e.name = 'screen_view'
      AND e.country = {filter0:String}
    GROUP BY e.path
    QUALIFY e.path != ''
) AS earlier ON shown.name = earlier.name
ORDER BY shown.row

-- owner String web_1
-- from Date 2026-03-24
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-24 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String AT
-- limit UInt64 5
-- offset UInt64 0
-- previous_from Date 2026-03-17
-- previous_to Date 2026-03-23
-- previous_start DateTime64(3, 'UTC') 2026-03-17 00:00:00.000
-- previous_end DateTime64(3, 'UTC') 2026-03-24 00:00:00.000
