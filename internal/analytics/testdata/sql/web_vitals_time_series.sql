SELECT date, avg_fcp, p50_fcp, avg_lcp, p50_lcp, avg_cls, p50_cls, avg_inp, p50_inp, avg_ttfb, p50_ttfb, measurements
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
LEFT JOIN (
    SELECT
        roundDown(toUnixTimestamp(e.event_time), {buckets:Array(UInt32)}) AS bucket,
        round(avgOrNullIf(e.value, e.name = 'FCP'), 4) AS avg_fcp,
        round(quantileExactInclusiveOrNullIf(0.50)(e.value, e.name = 'FCP'), 4) AS p50_fcp,
        round(avgOrNullIf(e.value, e.name = 'LCP'), 4) AS avg_lcp,
        round(quantileExactInclusiveOrNullIf(0.50)(e.value, e.name = 'LCP'), 4) AS p50_lcp,
        round(avgOrNullIf(e.value, e.name = 'CLS'), 4) AS avg_cls,
        round(quantileExactInclusiveOrNullIf(0.50)(e.value, e.name = 'CLS'), 4) AS p50_cls,
        round(avgOrNullIf(e.value, e.name = 'INP'), 4) AS avg_inp,
        round(quantileExactInclusiveOrNullIf(0.50)(e.value, e.name = 'INP'), 4) AS p50_inp,
        round(avgOrNullIf(e.value, e.name = 'TTFB'), 4) AS avg_ttfb,
        round(quantileExactInclusiveOrNullIf(0.50)(e.value, e.name = 'TTFB'), 4) AS p50_ttfb,
        count() AS measurements
    FROM vitals AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
    GROUP BY bucket
) AS measured USING (bucket)
ORDER BY bucket
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- buckets Array(UInt32) [1774656000,1774742400,1774828800]
-- labels Array(String) ['2026-03-28','2026-03-29','2026-03-30']
-- limit UInt64 10000
-- offset UInt64 0
