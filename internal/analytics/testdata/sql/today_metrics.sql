SELECT
    countIf(e.name = 'screen_view') AS pageviews,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS visitors,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS sessions
FROM events AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}

-- owner String web_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
