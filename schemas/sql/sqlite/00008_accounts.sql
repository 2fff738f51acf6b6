-- Which addresses of people are verified, what proves that one is, and the devices
-- from which people have signed in.

-- +goose Up
ALTER TABLE users ADD COLUMN verified_at INTEGER;
UPDATE users SET verified_at = created_at;

-- Whether the token was mailed and shown to nobody else: who has it reads the mail of
-- the address.
ALTER TABLE invitations ADD COLUMN mailed INTEGER NOT NULL DEFAULT 0 CHECK (mailed IN (0, 1));

CREATE TABLE email_verifications (
    token_hash BLOB PRIMARY KEY CHECK (length(token_hash) = 32),
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX email_verifications_user_id ON email_verifications (user_id);

CREATE TABLE devices (
    hash    BLOB PRIMARY KEY CHECK (length(hash) = 32),
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    seen_at INTEGER NOT NULL
) STRICT;

CREATE INDEX devices_user_id ON devices (user_id, seen_at);
CREATE INDEX devices_seen_at ON devices (seen_at);
