SELECT date, total_events, unique_event_types, unique_users, unique_sessions, unique_pages
FROM (
    SELECT pair.1 AS bucket, pair.2 AS date
    FROM (SELECT arrayJoin(arrayZip({buckets:Array(UInt32)}, {labels:Array(String)})) AS pair)
) AS axis
LEFT JOIN (
    SELECT
        roundDown(toUnixTimestamp(e.slot), {buckets:Array(UInt32)}) AS bucket,
        sum(e.events) AS total_events,
        uniqExact(e.name) AS unique_event_types,
        uniqCombined64Merge(14)(e.users) AS unique_users,
        uniqCombined64Merge(14)(e.sessions) AS unique_sessions,
        uniqCombined64Merge(14)(e.pages) AS unique_pages
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
    GROUP BY bucket
) AS measured USING (bucket)
ORDER BY bucket
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-01
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-01 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- buckets Array(UInt32) [1772323200,1772409600,1772496000,1772582400,1772668800,1772755200,1772841600,1772928000,1773014400,1773100800,1773187200,1773273600,1773360000,1773446400,1773532800,1773619200,1773705600,1773792000,1773878400,1773964800,1774051200,1774137600,1774224000,1774310400,1774396800,1774483200,1774569600,1774656000,1774742400,1774828800]
-- labels Array(String) ['2026-03-01','2026-03-02','2026-03-03','2026-03-04','2026-03-05','2026-03-06','2026-03-07','2026-03-08','2026-03-09','2026-03-10','2026-03-11','2026-03-12','2026-03-13','2026-03-14','2026-03-15','2026-03-16','2026-03-17','2026-03-18','2026-03-19','2026-03-20','2026-03-21','2026-03-22','2026-03-23','2026-03-24','2026-03-25','2026-03-26','2026-03-27','2026-03-28','2026-03-29','2026-03-30']
-- limit UInt64 10000
-- offset UInt64 0
