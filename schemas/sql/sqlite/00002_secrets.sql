-- +goose Up

-- Random keys that sign tokens. The name is their use.
CREATE TABLE secrets (
    name   TEXT PRIMARY KEY,
    secret BLOB NOT NULL CHECK (length(secret) = 32)
) STRICT;
