SELECT
    shown.name AS name,
    shown.referrer AS referrer,
    shown.clicks AS clicks,
    concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('"', name, '":', toString(then)), ['clicks'], [ifNotFinite(toFloat64(ifNull(shown.clicks, 0)), 0)], [ifNotFinite(toFloat64(ifNull(earlier.clicks, 0)), 0)]), ','), '}') AS previous,
    concat('{', arrayStringConcat(arrayMap((name, now, then) -> concat('"', name, '":', if(isFinite((round(100 * (now - then) / abs(then), 2) + 0)), toString((round(100 * (now - then) / abs(then), 2) + 0)), 'null')), ['clicks'], [ifNotFinite(toFloat64(ifNull(shown.clicks, 0)), 0)], [ifNotFinite(toFloat64(ifNull(earlier.clicks, 0)), 0)]), ','), '}') AS change
FROM (
    SELECT *, rowNumberInAllBlocks() AS row
    FROM (
        SELECT
            if(e.referrer_host = '', 'Direct', if(max(e.referrer_name) = '', e.referrer_host, max(e.referrer_name))) AS name,
            e.referrer_host AS referrer,
            count() AS clicks
        FROM clicks AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.is_bot = 0
          AND endsWith(e.referrer_host, {filter0:String})
          AND e.variant_id IN {filter1:Array(String)}
        GROUP BY e.referrer_host
        ORDER BY clicks DESC, e.referrer_host
        LIMIT {limit:UInt64} OFFSET {offset:UInt64}
    )
) AS shown
LEFT JOIN (
    SELECT
        if(e.referrer_host = '', 'Direct', if(max(e.referrer_name) = '', e.referrer_host, max(e.referrer_name))) AS name,
        e.referrer_host AS referrer,
        count() AS clicks
    FROM clicks AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {previous_from:Date} AND {previous_to:Date}
      AND e.event_time >= {previous_start:DateTime64(3, 'UTC')}
      AND e.event_time < {previous_end:DateTime64(3, 'UTC')}
      AND e.is_bot = 0
      AND endsWith(e.referrer_host, {filter0:String})
      AND e.variant_id IN {filter1:Array(String)}
    GROUP BY e.referrer_host
) AS earlier ON shown.referrer = earlier.referrer
ORDER BY shown.row

-- owner String lnk_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String google.com
-- filter1 Array(String) ['a']
-- limit UInt64 10
-- offset UInt64 0
-- previous_from Date 2026-03-29
-- previous_to Date 2026-03-29
-- previous_start DateTime64(3, 'UTC') 2026-03-29 00:00:00.000
-- previous_end DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
