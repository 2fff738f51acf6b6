-- Hosts of organizations' own for their short links. Many may claim a hostname; one at a
-- time has proved that it is theirs, and serves. Links of a domain have its id, a slash and
-- their slug as slug_key, so that one index keeps them apart; those of the shared host have
-- an empty domain_id.

-- +goose Up
CREATE TABLE link_domains (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    version         BIGINT NOT NULL CHECK (version > 0),
    hostname        TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'verified', 'failing')),
    token           TEXT NOT NULL,
    root_url        TEXT NOT NULL,
    not_found_url   TEXT NOT NULL,
    expired_url     TEXT NOT NULL,
    case_sensitive  BOOLEAN NOT NULL,
    problem         TEXT NOT NULL,
    points_here     BOOLEAN NOT NULL,
    bad_days        INTEGER NOT NULL CHECK (bad_days >= 0),
    checked_at      BIGINT,
    verified_at     BIGINT,
    due_at          BIGINT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    created_by      TEXT NOT NULL
);

CREATE UNIQUE INDEX link_domains_serving ON link_domains (hostname) WHERE status IN ('verified', 'failing');
CREATE UNIQUE INDEX link_domains_claim ON link_domains (organization_id, hostname);

ALTER TABLE links ADD COLUMN domain_id TEXT NOT NULL DEFAULT '';

CREATE INDEX links_domain_id ON links (domain_id, id) WHERE domain_id <> '';
