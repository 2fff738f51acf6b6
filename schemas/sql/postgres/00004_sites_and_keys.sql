-- What people may set on websites and API keys, the versions by which changes
-- made at once are told apart, and deletion that leaves the row.

-- +goose Up
ALTER TABLE websites ADD COLUMN version BIGINT NOT NULL DEFAULT 1 CHECK (version > 0);
ALTER TABLE websites ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';
ALTER TABLE websites ADD COLUMN settings JSONB NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object');
ALTER TABLE websites ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE websites ADD COLUMN deleted_at BIGINT;

-- What a search looks through, in lower case as the program understands it: SQLite
-- knows only ASCII.
ALTER TABLE websites ADD COLUMN search_text TEXT NOT NULL DEFAULT '';
UPDATE websites SET search_text = lower(name) || ' ' || domain;

-- A domain is free again when its website is deleted. No program before this one
-- could make two websites of one domain in an organization.
CREATE UNIQUE INDEX websites_domain ON websites (organization_id, domain) WHERE deleted_at IS NULL;

ALTER TABLE api_keys ADD COLUMN version BIGINT NOT NULL DEFAULT 1 CHECK (version > 0);
ALTER TABLE api_keys ADD COLUMN rate_limit_enabled BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE api_keys ADD COLUMN rate_limit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN rate_window_seconds BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN ip_allow JSONB NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(ip_allow) = 'array');
ALTER TABLE api_keys ADD COLUMN idle_expiry_days BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN tags JSONB NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(tags) = 'array');
ALTER TABLE api_keys ADD COLUMN last_used_at BIGINT;
ALTER TABLE api_keys ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN deleted_at BIGINT;
ALTER TABLE api_keys ADD COLUMN search_text TEXT NOT NULL DEFAULT '';
UPDATE api_keys SET updated_at = coalesce(revoked_at, rotated_at, created_at), search_text = lower(name);
