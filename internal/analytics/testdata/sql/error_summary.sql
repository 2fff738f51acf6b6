SELECT
    count() AS totalErrors,
    uniqExact(e.name) AS uniqueErrorTypes,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.anonymous_id)), e.anonymous_id != '') AS affectedUsers,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS affectedSessions,
    least(100, ifNull(round(100 * uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') / nullIf((SELECT uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}), 0), 2), 0)) AS errorRate
FROM errors AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
