-- What people may set on websites and API keys, the versions by which changes
-- made at once are told apart, and deletion that leaves the row.

-- +goose Up
ALTER TABLE websites ADD COLUMN version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0);
ALTER TABLE websites ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';
ALTER TABLE websites ADD COLUMN settings TEXT NOT NULL DEFAULT '{}' CHECK (json_type(settings) = 'object');
ALTER TABLE websites ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE websites ADD COLUMN deleted_at INTEGER;

-- What a search looks through, in lower case as the program understands it: SQLite
-- knows only ASCII.
ALTER TABLE websites ADD COLUMN search_text TEXT NOT NULL DEFAULT '';
UPDATE websites SET search_text = lower(name) || ' ' || domain;

-- A domain is free again when its website is deleted. No program before this one
-- could make two websites of one domain in an organization.
CREATE UNIQUE INDEX websites_domain ON websites (organization_id, domain) WHERE deleted_at IS NULL;

ALTER TABLE api_keys ADD COLUMN version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0);
ALTER TABLE api_keys ADD COLUMN rate_limit_enabled INTEGER NOT NULL DEFAULT 0 CHECK (rate_limit_enabled IN (0, 1));
ALTER TABLE api_keys ADD COLUMN rate_limit INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN rate_window_seconds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN ip_allow TEXT NOT NULL DEFAULT '[]' CHECK (json_type(ip_allow) = 'array');
ALTER TABLE api_keys ADD COLUMN idle_expiry_days INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN tags TEXT NOT NULL DEFAULT '[]' CHECK (json_type(tags) = 'array');
ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER;
ALTER TABLE api_keys ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN deleted_at INTEGER;
ALTER TABLE api_keys ADD COLUMN search_text TEXT NOT NULL DEFAULT '';
UPDATE api_keys SET updated_at = coalesce(revoked_at, rotated_at, created_at), search_text = lower(name);
