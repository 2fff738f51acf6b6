-- Organizations, people, websites, API keys and the salts of visitor ids.
-- Instants are Unix milliseconds; lists are JSON arrays; hashes are 32 bytes.

-- +goose Up
CREATE TABLE organizations (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE members (
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role            TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'editor', 'viewer')),
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (organization_id, user_id)
) STRICT;

CREATE INDEX members_user_id ON members (user_id);

-- A website outlives its organization, without one: its events are then refused
-- with a message of their own, and another organization may take it over.
CREATE TABLE websites (
    id                    TEXT PRIMARY KEY,
    organization_id       TEXT REFERENCES organizations (id) ON DELETE SET NULL,
    client_id             TEXT NOT NULL UNIQUE,
    old_client_id         TEXT,
    old_client_id_until   INTEGER,
    name                  TEXT NOT NULL,
    domain                TEXT NOT NULL,
    anonymize_visitor_ids TEXT NOT NULL DEFAULT 'true' CHECK (anonymize_visitor_ids IN ('true', 'false', 'auto')),
    allowed_origins       TEXT NOT NULL DEFAULT '[]' CHECK (json_type(allowed_origins) = 'array'),
    allowed_ips           TEXT NOT NULL DEFAULT '[]' CHECK (json_type(allowed_ips) = 'array'),
    public                INTEGER NOT NULL DEFAULT 0 CHECK (public IN (0, 1)),
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL,
    CHECK ((old_client_id IS NULL) = (old_client_id_until IS NULL))
) STRICT;

CREATE INDEX websites_organization_id ON websites (organization_id, id);
CREATE INDEX websites_old_client_id ON websites (old_client_id) WHERE old_client_id IS NOT NULL;

-- A key outlives its organization, refused, for the record. A key of one website
-- dies with it: with the column set to NULL it would reach every website.
CREATE TABLE api_keys (
    id              TEXT PRIMARY KEY,
    organization_id TEXT REFERENCES organizations (id) ON DELETE SET NULL,
    website_id      TEXT REFERENCES websites (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    start           TEXT NOT NULL,
    hash            BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    old_hash        BLOB CHECK (length(old_hash) = 32),
    old_hash_until  INTEGER,
    scopes          TEXT NOT NULL CHECK (json_type(scopes) = 'array'),
    expires_at      INTEGER,
    revoked_at      INTEGER,
    rotated_at      INTEGER,
    created_at      INTEGER NOT NULL,
    CHECK ((old_hash IS NULL) = (old_hash_until IS NULL))
) STRICT;

CREATE INDEX api_keys_organization_id ON api_keys (organization_id, id);
CREATE INDEX api_keys_website_id ON api_keys (website_id) WHERE website_id IS NOT NULL;
CREATE INDEX api_keys_old_hash ON api_keys (old_hash) WHERE old_hash IS NOT NULL;

-- One salt for each UTC day, written YYYY-MM-DD.
CREATE TABLE visitor_salts (
    day  TEXT PRIMARY KEY CHECK (length(day) = 10),
    salt BLOB NOT NULL CHECK (length(salt) = 32)
) STRICT;
