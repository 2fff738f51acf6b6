SELECT
    countIf(true) AS clicks,
    uniqExactIf((e.visitor, toStartOfHour(toDateTime(e.event_time, 'UTC'))), true AND e.visitor != '') AS unique_clicks,
    uniqExactIf(e.visitor, true AND e.visitor != '') AS unique_visitors,
    countIf(e.is_bot != 0) AS bots,
    maxIf(e.event_time, true) AS last_clicked
FROM clicks AS e FINAL
WHERE e.owner_id = {owner:String}
  AND e.event_date BETWEEN {from:Date} AND {to:Date}
  AND e.event_time >= {start:DateTime64(3, 'UTC')}
  AND e.event_time < {end:DateTime64(3, 'UTC')}
  AND (e.is_bot = ({filter0:String} = 'true') OR NOT (e.is_qr = ({filter1:String} = 'true')))

-- owner String lnk_1
-- from Date 2026-03-30
-- to Date 2026-03-30
-- start DateTime64(3, 'UTC') 2026-03-30 00:00:00.000
-- end DateTime64(3, 'UTC') 2026-03-31 00:00:00.000
-- filter0 String true
-- filter1 String false
