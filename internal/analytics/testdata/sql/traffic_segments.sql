SELECT
    multiIf(grouping(e.device) = 0, 'device_type', grouping(e.browser) = 0, 'browser_name', grouping(e.os) = 0, 'os_name', grouping(e.country) = 0, 'country', grouping(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String'))) = 0, 'referrer_type', grouping(e.utm_source) = 0, 'utm_source', '') AS dimension,
    multiIf(grouping(e.device) = 0, CAST(e.device, 'String'), grouping(e.browser) = 0, CAST(e.browser, 'String'), grouping(e.os) = 0, CAST(e.os, 'String'), grouping(e.country) = 0, CAST(e.country, 'String'), grouping(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String'))) = 0, CAST(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')), 'String'), grouping(e.utm_source) = 0, CAST(e.utm_source, 'String'), '') AS value,
    count() AS pageviews,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS sessions
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.name = 'screen_view'
GROUP BY GROUPING SETS ((e.device), (e.browser), (e.os), (e.country), (if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String'))), (e.utm_source))
QUALIFY value != ''
ORDER BY pageviews DESC, dimension, value
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
