SELECT
    if(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name)) AS referrer,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.name = 'screen_view' AND e.referrer_kind != 'internal'
GROUP BY if(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name))
ORDER BY visitors DESC, if(if(e.referrer_kind = '', 'direct', CAST(e.referrer_kind, 'String')) = 'direct', 'Direct', if(e.referrer_name = '', e.referrer_host, e.referrer_name))
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 10:15:30.000
-- end DateTime64(3, 'UTC') 2026-03-30 10:20:30.001
-- limit UInt64 100
-- offset UInt64 0
