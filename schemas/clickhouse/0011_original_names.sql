-- Column original_name of events, which came after it.
ALTER TABLE events ADD COLUMN IF NOT EXISTS original_name String CODEC(ZSTD(1))
;

-- Column original_name of errors, which came after it.
ALTER TABLE errors ADD COLUMN IF NOT EXISTS original_name String CODEC(ZSTD(1))
;
