-- Settings of organizations, invitations into them, sessions, tokens for a new
-- password, and how often somebody may still try.

-- +goose Up
ALTER TABLE organizations ADD COLUMN slug TEXT;
ALTER TABLE organizations ADD COLUMN logo_url TEXT NOT NULL DEFAULT '';
ALTER TABLE organizations ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';
ALTER TABLE organizations ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE organizations ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE organizations ADD COLUMN updated_at BIGINT;
UPDATE organizations SET updated_at = created_at;

CREATE UNIQUE INDEX organizations_slug ON organizations (slug) WHERE slug IS NOT NULL;

ALTER TABLE users ADD COLUMN password_changed_at BIGINT;
UPDATE users SET password_changed_at = created_at;

-- Who invited is kept as text: the invitation is withdrawn when that member goes.
CREATE TABLE invitations (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    email           TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'editor', 'viewer')),
    token_hash      BYTEA NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    invited_by      TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    UNIQUE (organization_id, email)
);

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash       BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    ip         TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX sessions_user_id ON sessions (user_id, id);

CREATE TABLE password_resets (
    token_hash BYTEA PRIMARY KEY CHECK (length(token_hash) = 32),
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);

CREATE INDEX password_resets_user_id ON password_resets (user_id);

-- One row for each account or address that tried lately, under the hash of its
-- name: the instant until which its tries are paid for.
CREATE TABLE attempts (
    key        BYTEA PRIMARY KEY CHECK (length(key) = 32),
    paid_until BIGINT NOT NULL
);

CREATE INDEX attempts_paid_until ON attempts (paid_until);
