SELECT
    variant,
    mixed,
    toUInt64(round(sum(weight))) AS visitors,
    toUInt64(round(sum(weight * converted))) AS conversions,
    round(100 * (sum(weight * converted) / sum(weight)), 2) AS conversion_rate,
    round(100 * greatest(0, least(1, ((sum(weight * converted) / sum(weight)) + 3.841459 / (2 * (pow(sum(weight), 2) / sum(weight * weight))) - 1.959964 * sqrt((sum(weight * converted) / sum(weight)) * (1 - (sum(weight * converted) / sum(weight))) / (pow(sum(weight), 2) / sum(weight * weight)) + 3.841459 / (4 * pow((pow(sum(weight), 2) / sum(weight * weight)), 2)))) / (1 + 3.841459 / (pow(sum(weight), 2) / sum(weight * weight))))), 2) AS rate_low,
    round(100 * greatest(0, least(1, ((sum(weight * converted) / sum(weight)) + 3.841459 / (2 * (pow(sum(weight), 2) / sum(weight * weight))) + 1.959964 * sqrt((sum(weight * converted) / sum(weight)) * (1 - (sum(weight * converted) / sum(weight))) / (pow(sum(weight), 2) / sum(weight * weight)) + 3.841459 / (4 * pow((pow(sum(weight), 2) / sum(weight * weight)), 2)))) / (1 + 3.841459 / (pow(sum(weight), 2) / sum(weight * weight))))), 2) AS rate_high
FROM (
    SELECT
        if(length(x.variants) > 1, '', x.variants[1]) AS variant, CAST(length(x.variants) > 1, 'Bool') AS mixed,
        x.weight AS weight, v.last > x.first AS converted
    FROM (
        SELECT
            if(e.profile_id != '', concat('\0', e.profile_id), e.anonymous_id) AS visitor, groupUniqArray(toString(e.variant)) AS variants,
            toUnixTimestamp64Milli(min(e.event_time)) AS first, 100 / max(e.sample_percent) AS weight
        FROM flag_exposures AS e FINAL
        WHERE e.owner_id = {owner:String}
          AND e.event_date BETWEEN {from:Date} AND {to:Date}
          AND e.event_time >= {start:DateTime64(3, 'UTC')}
          AND e.event_time < {end:DateTime64(3, 'UTC')}
          AND e.name = {filter0:String}
        GROUP BY visitor
    ) AS x
    LEFT JOIN (
        SELECT who AS visitor, max(at) AS last
        FROM (
            SELECT
                toUnixTimestamp64Milli(e.event_time) AS at,
                arrayJoin(arrayFilter(w -> w NOT IN ('', '\0'), [
                    e.anonymous_id, concat('\0', e.profile_id),
                    if(position(e.profile_id, '@') = 0, '', concat(
                        '\0email:', lower(hex(SHA256(concat(toString(e.owner_id), char(0), lower(e.profile_id)))))
                    ))
                ])) AS who
            FROM events AS e FINAL
            WHERE e.owner_id = {owner:String}
              AND e.event_date BETWEEN {from:Date} AND {to:Date}
              AND e.event_time >= {start:DateTime64(3, 'UTC')}
              AND e.event_time < {end:DateTime64(3, 'UTC')}
              AND e.name = {option_event_name:String}
        )
        GROUP BY visitor
    ) AS v ON v.visitor = x.visitor
)
GROUP BY variant, mixed
ORDER BY visitors DESC, variant, mixed
LIMIT {limit:UInt64} OFFSET {offset:UInt64}

-- owner String web_1
-- from Date 2026-03-28
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-28 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String x
-- option_event_name String purchase
-- limit UInt64 100
-- offset UInt64 0
