SELECT
    toDateTime64(toStartOfHour(e.at), 3, 'UTC') AS hour,
    e.website_id AS website_id,
    sumIf(e.events, e.outcome = 'accepted') AS accepted,
    sumIf(e.events, e.outcome = 'duplicate') AS duplicates,
    sumIf(e.events, e.outcome NOT IN ('accepted', 'bot', 'excluded', 'declined', 'duplicate', 'dead_letter', 'erased')) AS refused,
    toJSONString(sumMapIf(map(e.outcome, e.events), e.outcome NOT IN ('accepted', 'bot', 'excluded', 'declined', 'duplicate', 'dead_letter', 'erased'))) AS refusals,
    sumIf(e.events, e.outcome = 'bot') AS bots,
    sumIf(e.events, e.outcome = 'excluded') AS excluded,
    sumIf(e.events, e.outcome = 'declined') AS declined,
    sumIf(e.events, e.outcome = 'dead_letter') AS dead_lettered,
    sumIf(e.events, e.outcome = 'erased') AS erased,
    max(e.at) AS last_seen
FROM (
    SELECT e.event_time AS at, CAST(e.owner_id, 'String') AS website_id, CAST(e.name, 'String') AS outcome, e.events AS events
    FROM ingestion_1m AS e FINAL
    WHERE e.organization_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
      AND e.event_time >= {start:DateTime64(3, 'UTC')}
      AND e.event_time < {end:DateTime64(3, 'UTC')}
    UNION ALL
    SELECT toDateTime64(e.hour, 3, 'UTC') AS at, CAST(e.owner_id, 'String') AS website_id, pair.1 AS outcome, pair.2 AS events
    FROM unstored_1h AS e
    ARRAY JOIN [('duplicate', e.duplicates), ('dead_letter', e.dead_letters), ('erased', e.erased)] AS pair
    WHERE e.owner_id IN (SELECT owner_id FROM ingestion_1m WHERE organization_id = {owner:String})
      AND e.topic != 'ingestion.v1'
      AND e.hour >= toStartOfHour({start:DateTime64(3, 'UTC')})
      AND e.hour < {end:DateTime64(3, 'UTC')}
      AND pair.2 > 0
) AS e
WHERE e.website_id = {filter0:String}
GROUP BY hour, e.website_id
ORDER BY hour DESC, hour, e.website_id
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String org_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String web_1
-- limit UInt64 10000
-- offset UInt64 0
