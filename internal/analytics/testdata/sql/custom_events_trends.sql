SELECT date, total_events, unique_event_types, unique_users, unique_sessions, unique_pages
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
LEFT JOIN (
    SELECT
        roundDown(toUnixTimestamp(e.event_time), {buckets:Array(UInt32)}) AS bucket,
        count() AS total_events,
        uniqExact(e.name) AS unique_event_types,
        uniqExactIf(reinterpretAsUInt128(sipHash128(if(e.anonymous_id != '', e.anonymous_id, concat('\0', e.profile_id)))), e.anonymous_id != '' OR e.profile_id != '') AS unique_users,
        uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS unique_sessions,
        uniqExactIf(reinterpretAsUInt128(sipHash128(e.path)), e.path != '') AS unique_pages
    FROM events AS e FINAL
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
      AND e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')
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
