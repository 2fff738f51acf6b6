SELECT
    step,
    from_name,
    to_name,
    count() AS sessions,
    round(100 * count() / sum(countIf(step = 1)) OVER (), 2) AS percentage
FROM (
    SELECT session, step, things[step] AS from_name, things[step + 1] AS to_name
    FROM (
        SELECT
            e.session_id AS session,
            arrayCompact(arraySort(groupArray((e.event_time, multiIf(e.name = 'screen_view', if({option_of:String} = 'events', '', e.path), {option_of:String} = 'pages', '', e.name)))).2) AS whole,
            if({option_start:String} = '', 1, indexOf(whole, {option_start:String})) AS first,
            if(first = 0, [], arraySlice(whole, first, {option_depth:UInt64} + 1)) AS things
        FROM events AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.session_id != '' AND (e.name = 'screen_view' OR e.name NOT IN ('screen_view', 'page_exit', 'link_out', 'outgoing_link', 'engagement')) AND multiIf(e.name = 'screen_view', if({option_of:String} = 'events', '', e.path), {option_of:String} = 'pages', '', e.name) != ''
        GROUP BY e.session_id
    )
    ARRAY JOIN range(1, least(length(things), {option_depth:UInt64}) + 1) AS step
)
GROUP BY step, from_name, to_name
ORDER BY sessions DESC, step, from_name, to_name
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- option_of String pages
-- option_start String 
-- option_depth UInt64 3
-- limit UInt64 100
-- offset UInt64 0
