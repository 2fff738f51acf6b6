-- Feature flags and segments: what they are, as JSON that is kept as it was written, and
-- what of it others may ask for. A key is one flag's of a website, or of all websites of an
-- organization, where website_id is null; so is that of a segment. flag_sets counts the
-- changes of all flags and segments of an organization.

-- +goose Up
CREATE TABLE flags (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    website_id      TEXT REFERENCES websites (id) ON DELETE CASCADE,
    version         INTEGER NOT NULL CHECK (version > 0),
    key             TEXT NOT NULL,
    name            TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('active', 'inactive', 'archived')),
    tags            TEXT NOT NULL CHECK (json_type(tags) = 'array'),
    about           TEXT NOT NULL,
    definition      TEXT NOT NULL,
    refs            TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    created_by      TEXT NOT NULL,
    search_text     TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX flags_key ON flags (organization_id, key) WHERE website_id IS NULL;
CREATE UNIQUE INDEX flags_website_key ON flags (website_id, key);
CREATE INDEX flags_organization_id ON flags (organization_id, id);

-- What a flag was after each of its last changes.
CREATE TABLE flag_versions (
    flag_id    TEXT NOT NULL REFERENCES flags (id) ON DELETE CASCADE,
    version    INTEGER NOT NULL CHECK (version > 0),
    action     TEXT NOT NULL,
    changed    TEXT NOT NULL CHECK (json_type(changed) = 'array'),
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'inactive', 'archived')),
    about      TEXT NOT NULL,
    definition TEXT NOT NULL,
    made_at    INTEGER NOT NULL,
    actor_type TEXT NOT NULL,
    actor_id   TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    PRIMARY KEY (flag_id, version)
) STRICT;

CREATE TABLE flag_segments (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    website_id      TEXT REFERENCES websites (id) ON DELETE CASCADE,
    version         INTEGER NOT NULL CHECK (version > 0),
    key             TEXT NOT NULL,
    name            TEXT NOT NULL,
    description     TEXT NOT NULL,
    definition      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    created_by      TEXT NOT NULL,
    search_text     TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX flag_segments_key ON flag_segments (organization_id, key) WHERE website_id IS NULL;
CREATE UNIQUE INDEX flag_segments_website_key ON flag_segments (website_id, key);
CREATE INDEX flag_segments_organization_id ON flag_segments (organization_id, id);

CREATE TABLE flag_sets (
    organization_id TEXT PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    version         INTEGER NOT NULL CHECK (version > 0)
) STRICT;
