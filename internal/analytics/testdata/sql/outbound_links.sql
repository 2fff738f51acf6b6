SELECT
    e.href AS href,
    e.link_text AS text,
    count() AS total_clicks,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS unique_users,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS unique_sessions,
    round(100 * count() / sum(count()) OVER (), 2) AS percentage,
    max(e.event_time) AS last_clicked
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND e.name IN ('link_out', 'outgoing_link')
GROUP BY e.href, e.link_text
QUALIFY e.href != ''
ORDER BY total_clicks DESC, e.href, e.link_text
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
