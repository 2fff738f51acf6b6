SELECT
    if(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name)) AS name,
    count() AS pageviews,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors,
    round(100 * count() / sum(count()) OVER (), 2) AS percentage,
    min(e.referrer) AS referrer,
    min(CAST(e.utm_source, 'String')) AS source,
    min(e.referrer_host) AS domain,
    min(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String'))) AS referrer_type,
    min(if(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name))) AS parsed_referrer
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.name = 'screen_view' AND e.referrer_kind != 'internal'
GROUP BY if(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name))
ORDER BY pageviews DESC, if(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name))
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
