SELECT
    e.path AS name,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors,
    round(avgOrNullIf(e.value, e.name = 'FCP'), 4) AS avg_fcp,
    round(quantileExactInclusiveOrNullIf(0.50)(e.value, e.name = 'FCP'), 4) AS p50_fcp,
    round(avgOrNullIf(e.value, e.name = 'LCP'), 4) AS avg_lcp,
    round(quantileExactInclusiveOrNullIf(0.50)(e.value, e.name = 'LCP'), 4) AS p50_lcp,
    round(quantileExactInclusiveOrNullIf(0.75)(e.value, e.name = 'LCP'), 4) AS p75_lcp,
    round(avgOrNullIf(e.value, e.name = 'CLS'), 4) AS avg_cls,
    round(quantileExactInclusiveOrNullIf(0.50)(e.value, e.name = 'CLS'), 4) AS p50_cls,
    round(avgOrNullIf(e.value, e.name = 'INP'), 4) AS avg_inp,
    round(quantileExactInclusiveOrNullIf(0.75)(e.value, e.name = 'INP'), 4) AS p75_inp,
    round(avgOrNullIf(e.value, e.name = 'TTFB'), 4) AS avg_ttfb,
    count() AS measurements
FROM vitals AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.path != ''
GROUP BY e.path
ORDER BY measurements DESC, e.path
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
