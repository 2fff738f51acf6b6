-- Short links and their folders. A slug of the host that all organizations share belongs
-- to the organization that had it first, also when there is no such link any more: see
-- link_slugs, which nothing is removed from.

-- +goose Up
CREATE TABLE link_folders (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    version         INTEGER NOT NULL CHECK (version > 0),
    name            TEXT NOT NULL,
    name_key        TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    created_by      TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX link_folders_name ON link_folders (organization_id, name_key);

CREATE TABLE links (
    id              TEXT PRIMARY KEY,
    organization_id TEXT REFERENCES organizations (id) ON DELETE SET NULL,
    version         INTEGER NOT NULL CHECK (version > 0),
    slug            TEXT NOT NULL,
    slug_key        TEXT NOT NULL,
    url             TEXT NOT NULL,
    name            TEXT NOT NULL,
    folder_id       TEXT REFERENCES link_folders (id) ON DELETE SET NULL,
    tags            TEXT NOT NULL DEFAULT '[]' CHECK (json_type(tags) = 'array'),
    external_id     TEXT,
    enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    starts_at       INTEGER,
    expires_at      INTEGER,
    expired_url     TEXT NOT NULL,
    max_clicks      INTEGER NOT NULL CHECK (max_clicks >= 0),
    password_hash   TEXT NOT NULL,
    redirect_status INTEGER NOT NULL CHECK (redirect_status IN (301, 302, 307, 308)),
    forward_query   INTEGER NOT NULL CHECK (forward_query IN (0, 1)),
    utm             TEXT NOT NULL DEFAULT '{}' CHECK (json_type(utm) = 'object'),
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    deleted_at      INTEGER,
    created_by      TEXT NOT NULL,
    search_text     TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX links_slug ON links (slug_key);
CREATE UNIQUE INDEX links_external_id ON links (organization_id, external_id) WHERE deleted_at IS NULL;
CREATE INDEX links_organization_id ON links (organization_id, id);
CREATE INDEX links_folder_id ON links (folder_id);
CREATE INDEX links_deleted_at ON links (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE link_slugs (
    slug_key        TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL
) STRICT;

-- The tags of links that are not deleted.
CREATE TABLE link_tags (
    organization_id TEXT NOT NULL,
    tag             TEXT NOT NULL,
    link_id         TEXT NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    PRIMARY KEY (organization_id, tag, link_id)
) STRICT;

CREATE INDEX link_tags_link_id ON link_tags (link_id);

-- How many of their clicks links with a bound have used up.
CREATE TABLE link_uses (
    link_id TEXT PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    used    INTEGER NOT NULL CHECK (used >= 0)
) STRICT;
