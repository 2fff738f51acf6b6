-- Settings of events that came after it.
ALTER TABLE events MODIFY SETTING min_bytes_for_wide_part = 268435456
;

-- Settings of events_15m that came after it.
ALTER TABLE events_15m MODIFY SETTING min_bytes_for_wide_part = 268435456
;

-- Settings of events_1d that came after it.
ALTER TABLE events_1d MODIFY SETTING min_bytes_for_wide_part = 268435456
;
