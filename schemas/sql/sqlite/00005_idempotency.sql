-- Calls that came with an Idempotency-Key, for 24 hours. Keys and requests are
-- there as hashes; an answer is sealed with the credential that asked for it.

-- +goose Up
CREATE TABLE idempotent_calls (
    caller       TEXT NOT NULL,
    key_hash     BLOB NOT NULL CHECK (length(key_hash) = 32),
    request_hash BLOB NOT NULL CHECK (length(request_hash) = 32),
    sealed       BLOB,
    started_at   INTEGER NOT NULL,
    PRIMARY KEY (caller, key_hash)
) STRICT;

CREATE INDEX idempotent_calls_started_at ON idempotent_calls (started_at);
