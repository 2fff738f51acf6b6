-- +goose Up

-- Random keys with which the product signs what it hands out, by their use.
CREATE TABLE secrets (
    name   TEXT PRIMARY KEY,
    secret BYTEA NOT NULL CHECK (length(secret) = 32)
);
