-- Whether a call with an Idempotency-Key has changed anything: it is noted with the change. A
-- call that has not may be made again when it was cut off. Versions before note nothing, so
-- that calls of theirs count as if they had.

-- +goose Up
ALTER TABLE idempotent_calls ADD COLUMN changed INTEGER NOT NULL DEFAULT 1 CHECK (changed IN (0, 1));
