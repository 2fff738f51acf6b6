SELECT
    e.name AS name,
    sum(e.events) AS total_events,
    uniqCombined64Merge(14)(e.users) AS unique_users,
    uniqCombined64Merge(14)(e.sessions) AS unique_sessions,
    max(e.last) AS last_occurrence,
    min(e.first) AS first_occurrence,
    sum(e.with_properties) AS events_with_properties,
    round(100 * sum(e.events) / sum(sum(e.events)) OVER (), 2) AS percentage
FROM (
    SELECT
        e.slot AS slot,
        e.name AS name,
        e.events AS events,
        e.with_properties AS with_properties,
        e.users AS users,
        e.sessions AS sessions,
        e.pages AS pages,
        CAST(e.first, 'DateTime64(3, \'UTC\')') AS first,
        CAST(e.last, 'DateTime64(3, \'UTC\')') AS last
    FROM custom_15m AS e
    WHERE e.owner_id = {owner:String}
      AND e.event_date BETWEEN {from:Date} AND {to:Date}
) AS e
GROUP BY e.name
ORDER BY total_events DESC, e.name
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-01
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-01 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
