SELECT
    e.customer AS profile_id,
    max(e.display_name) AS display_name,
    max(e.email) AS email,
    count() AS errors,
    uniqExact(e.name) AS error_types,
    uniqExactIf(e.path, e.path != '') AS pages,
    uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') AS affected_sessions,
    max(e.visits) AS total_sessions,
    least(100, ifNull(round(100 * uniqExactIf(reinterpretAsUInt128(sipHash128(e.session_id)), e.session_id != '') / nullIf(max(e.visits), 0), 2), 0)) AS affected_rate,
    max(tuple(e.event_time, e.message)).2 AS last_error,
    min(e.event_time) AS first_seen,
    max(e.event_time) AS last_seen
FROM (
    SELECT e.*, if(t.display != '', t.display, t.name) AS display_name, t.email AS email, s.sessions AS visits
    FROM (
        SELECT e.*, if(e.profile_id != '', e.profile_id, a.user) AS customer
        FROM (
            SELECT e.*
            FROM errors AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
        ) AS e
        LEFT JOIN (
            SELECT a.anonymous_id AS visitor, a.profile_id AS user
            FROM aliases AS a FINAL
            WHERE a.owner_id = {owner:String}
        ) AS a ON a.visitor = e.anonymous_id
    ) AS e
    LEFT JOIN (
        SELECT if(e.profile_id != '', e.profile_id, a.user) AS customer, uniqExact(reinterpretAsUInt128(sipHash128(e.session_id))) AS sessions
        FROM (
            SELECT e.profile_id AS profile_id, e.anonymous_id AS anonymous_id, e.session_id AS session_id
            FROM events AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.session_id != ''
        ) AS e
        LEFT JOIN (
            SELECT a.anonymous_id AS visitor, a.profile_id AS user
            FROM aliases AS a FINAL
            WHERE a.owner_id = {owner:String}
        ) AS a ON a.visitor = e.anonymous_id
        WHERE customer != ''
        GROUP BY customer
    ) AS s ON s.customer = e.customer
    LEFT JOIN (
        SELECT t.profile_id AS id, anyIf(if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value), t.trait = 'display_name') AS display, anyIf(if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value), t.trait = 'name') AS name,
            anyIf(if(startsWith(t.value, '"'), JSONExtractString(t.value), t.value), t.trait = 'email') AS email
        FROM profile_traits AS t FINAL
        WHERE t.owner_id = {owner:String}
          AND t.trait IN ('display_name', 'name', 'email')
          AND t.value != 'null'
        GROUP BY t.profile_id
    ) AS t ON t.id = e.customer
    WHERE e.customer != ''
) AS e
GROUP BY e.customer
ORDER BY errors DESC, e.customer
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- limit UInt64 100
-- offset UInt64 0
