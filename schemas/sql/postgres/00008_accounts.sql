-- Which addresses of people are verified, what proves that one is, and the devices
-- from which people have signed in.

-- +goose Up
ALTER TABLE users ADD COLUMN verified_at BIGINT;
UPDATE users SET verified_at = created_at;

-- Whether the token was mailed and shown to nobody else: who has it reads the mail of
-- the address.
ALTER TABLE invitations ADD COLUMN mailed BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE email_verifications (
    token_hash BYTEA PRIMARY KEY CHECK (length(token_hash) = 32),
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);

CREATE INDEX email_verifications_user_id ON email_verifications (user_id);

CREATE TABLE devices (
    hash    BYTEA PRIMARY KEY CHECK (length(hash) = 32),
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    seen_at BIGINT NOT NULL
);

CREATE INDEX devices_user_id ON devices (user_id, seen_at);
CREATE INDEX devices_seen_at ON devices (seen_at);
