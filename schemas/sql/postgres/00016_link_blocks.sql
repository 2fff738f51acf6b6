-- What an operator has blocked: short links, by their slug_key, and hosts that links lead
-- to, with all below them. link_hosts says for each link which hosts it leads to, each with
-- all hosts above it, in ASCII and lower case.

-- +goose Up
CREATE TABLE link_blocks (
    kind       TEXT NOT NULL CHECK (kind IN ('link', 'host')),
    name       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    PRIMARY KEY (kind, name)
);

CREATE TABLE link_hosts (
    link_id TEXT NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    host    TEXT NOT NULL,
    PRIMARY KEY (link_id, host)
);

CREATE INDEX link_hosts_host ON link_hosts (host);

-- Of which version of a link it is said; 0 of none.
ALTER TABLE links ADD COLUMN hosts_version BIGINT NOT NULL DEFAULT 0;

CREATE INDEX links_hosts_due ON links (id) WHERE hosts_version <> version;
