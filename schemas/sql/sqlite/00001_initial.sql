-- Tables of the metadata store. Times are Unix milliseconds, lists and objects are JSON, hashes have
-- 32 bytes, ids are a type prefix and a ULID. `version` rises by one with each change of a row; an
-- update that names another version is rejected. `search_text` is what searches read, in lower case.

-- +goose Up

-- ----------------------------------------------------------------------------
-- Organizations and people
-- ----------------------------------------------------------------------------

-- A deleted organization keeps its rows until it can no longer be restored.
CREATE TABLE organizations (
    id         TEXT PRIMARY KEY,
    slug       TEXT,
    name       TEXT NOT NULL,
    logo_url   TEXT NOT NULL DEFAULT '',
    timezone   TEXT NOT NULL DEFAULT 'UTC',
    version    INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER,
    deleted_at INTEGER,
    created_by TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE UNIQUE INDEX organizations_slug ON organizations (slug) WHERE slug IS NOT NULL;
CREATE INDEX organizations_deleted_at ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE users (
    id                  TEXT PRIMARY KEY,
    email               TEXT NOT NULL UNIQUE,
    name                TEXT NOT NULL,
    password_hash       TEXT NOT NULL,
    password_changed_at INTEGER,
    verified_at         INTEGER,
    created_at          INTEGER NOT NULL
) STRICT;

CREATE TABLE members (
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role            TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'editor', 'viewer')),
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (organization_id, user_id)
) STRICT;

CREATE INDEX members_user_id ON members (user_id);

-- mailed: the token was sent by mail only, so its bearer reads the mail of the address.
-- invited_by holds the inviting member's id as text; the invitation ends with that membership.
CREATE TABLE invitations (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    email           TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'editor', 'viewer')),
    token_hash      BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    mailed          INTEGER NOT NULL DEFAULT 0 CHECK (mailed IN (0, 1)),
    invited_by      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    UNIQUE (organization_id, email)
) STRICT;

-- ----------------------------------------------------------------------------
-- Signing in
-- ----------------------------------------------------------------------------

CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    ip         TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_user_id ON sessions (user_id, id);

-- Devices from which a person has signed in before.
CREATE TABLE devices (
    hash    BLOB PRIMARY KEY CHECK (length(hash) = 32),
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    seen_at INTEGER NOT NULL
) STRICT;

CREATE INDEX devices_user_id ON devices (user_id, seen_at);
CREATE INDEX devices_seen_at ON devices (seen_at);

CREATE TABLE password_resets (
    token_hash BLOB PRIMARY KEY CHECK (length(token_hash) = 32),
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX password_resets_user_id ON password_resets (user_id);

CREATE TABLE email_verifications (
    token_hash BLOB PRIMARY KEY CHECK (length(token_hash) = 32),
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX email_verifications_user_id ON email_verifications (user_id);

-- Recent attempts to sign in. key is the hash of an account or address; each attempt moves
-- paid_until further into the future.
CREATE TABLE attempts (
    key        BLOB PRIMARY KEY CHECK (length(key) = 32),
    paid_until INTEGER NOT NULL
) STRICT;

CREATE INDEX attempts_paid_until ON attempts (paid_until);

-- ----------------------------------------------------------------------------
-- Websites and API keys
-- ----------------------------------------------------------------------------

-- A website outlives its organization, with no organization_id: its events are rejected with a
-- message of their own, and another organization may take the website over.
CREATE TABLE websites (
    id                    TEXT PRIMARY KEY,
    organization_id       TEXT REFERENCES organizations (id) ON DELETE SET NULL,
    client_id             TEXT NOT NULL UNIQUE,
    old_client_id         TEXT,
    old_client_id_until   INTEGER,
    version               INTEGER NOT NULL DEFAULT 1 CHECK (version > 0),
    name                  TEXT NOT NULL,
    domain                TEXT NOT NULL,
    timezone              TEXT NOT NULL DEFAULT 'UTC',
    anonymize_visitor_ids TEXT NOT NULL DEFAULT 'true' CHECK (anonymize_visitor_ids IN ('true', 'false', 'auto')),
    allowed_origins       TEXT NOT NULL DEFAULT '[]' CHECK (json_type(allowed_origins) = 'array'),
    allowed_ips           TEXT NOT NULL DEFAULT '[]' CHECK (json_type(allowed_ips) = 'array'),
    public                INTEGER NOT NULL DEFAULT 0 CHECK (public IN (0, 1)),
    settings              TEXT NOT NULL DEFAULT '{}' CHECK (json_type(settings) = 'object'),
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL,
    deleted_at            INTEGER,
    created_by            TEXT NOT NULL DEFAULT '',
    search_text           TEXT NOT NULL DEFAULT '',
    CHECK ((old_client_id IS NULL) = (old_client_id_until IS NULL))
) STRICT;

-- Deleting a website frees its domain.
CREATE UNIQUE INDEX websites_domain ON websites (organization_id, domain) WHERE deleted_at IS NULL;
CREATE INDEX websites_organization_id ON websites (organization_id, id);
CREATE INDEX websites_old_client_id ON websites (old_client_id) WHERE old_client_id IS NOT NULL;
CREATE INDEX websites_deleted_at ON websites (deleted_at) WHERE deleted_at IS NOT NULL;

-- Earlier organizations of a website, each with the time of its last departure. Usage stays theirs.
CREATE TABLE website_moves (
    website_id      TEXT NOT NULL REFERENCES websites (id) ON DELETE CASCADE,
    organization_id TEXT NOT NULL,
    moved_at        INTEGER NOT NULL,
    PRIMARY KEY (website_id, organization_id)
) STRICT;

CREATE INDEX website_moves_organization_id ON website_moves (organization_id);

-- A key outlives its organization, rejected, for the record. A key for one website is deleted with
-- the website: without a website_id it would cover all of them.
CREATE TABLE api_keys (
    id                  TEXT PRIMARY KEY,
    organization_id     TEXT REFERENCES organizations (id) ON DELETE SET NULL,
    website_id          TEXT REFERENCES websites (id) ON DELETE CASCADE,
    version             INTEGER NOT NULL DEFAULT 1 CHECK (version > 0),
    name                TEXT NOT NULL,
    start               TEXT NOT NULL,
    hash                BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    old_hash            BLOB CHECK (length(old_hash) = 32),
    old_hash_until      INTEGER,
    scopes              TEXT NOT NULL CHECK (json_type(scopes) = 'array'),
    tags                TEXT NOT NULL DEFAULT '[]' CHECK (json_type(tags) = 'array'),
    ip_allow            TEXT NOT NULL DEFAULT '[]' CHECK (json_type(ip_allow) = 'array'),
    rate_limit_enabled  INTEGER NOT NULL DEFAULT 0 CHECK (rate_limit_enabled IN (0, 1)),
    rate_limit          INTEGER NOT NULL DEFAULT 0,
    rate_window_seconds INTEGER NOT NULL DEFAULT 0,
    idle_expiry_days    INTEGER NOT NULL DEFAULT 0,
    expires_at          INTEGER,
    revoked_at          INTEGER,
    rotated_at          INTEGER,
    last_used_at        INTEGER,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL DEFAULT 0,
    deleted_at          INTEGER,
    created_by          TEXT NOT NULL DEFAULT '',
    search_text         TEXT NOT NULL DEFAULT '',
    CHECK ((old_hash IS NULL) = (old_hash_until IS NULL))
) STRICT;

CREATE INDEX api_keys_organization_id ON api_keys (organization_id, id);
CREATE INDEX api_keys_website_id ON api_keys (website_id) WHERE website_id IS NOT NULL;
CREATE INDEX api_keys_old_hash ON api_keys (old_hash) WHERE old_hash IS NOT NULL;

-- The quota of an organization and its usage in the current month. monthly_events is NULL where the
-- setting applies, and 0 for no quota.
CREATE TABLE quotas (
    organization_id TEXT PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    monthly_events  INTEGER CHECK (monthly_events >= 0),
    month           TEXT NOT NULL,
    used            INTEGER NOT NULL,
    exceeded        INTEGER NOT NULL CHECK (exceeded IN (0, 1)),
    noticed         INTEGER NOT NULL CHECK (noticed IN (0, 80, 100)),
    version         INTEGER NOT NULL,
    counted_at      INTEGER
) STRICT;

-- ----------------------------------------------------------------------------
-- Privacy
-- ----------------------------------------------------------------------------

-- The salt of visitor ids of one UTC day, YYYY-MM-DD.
CREATE TABLE visitor_salts (
    day  TEXT PRIMARY KEY CHECK (length(day) = 10),
    salt BLOB NOT NULL CHECK (length(salt) = 32)
) STRICT;

-- Requested erasures and their progress. Ids of profiles and visitors are stored as hashes only.
-- An erasure outlives its organization, for the record.
CREATE TABLE erasures (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL,
    owner_id        TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('website', 'profile', 'visitor')),
    stones          TEXT NOT NULL CHECK (json_type(stones) = 'array'),
    before          INTEGER NOT NULL,
    days            TEXT NOT NULL CHECK (json_type(days) = 'array'),
    shared          INTEGER NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('requested', 'tombstoned', 'deleting', 'done')),
    deleted         TEXT NOT NULL CHECK (json_type(deleted) = 'object'),
    failures        INTEGER NOT NULL,
    actor_type      TEXT NOT NULL,
    actor_id        TEXT NOT NULL,
    actor_name      TEXT NOT NULL,
    requested_at    INTEGER NOT NULL,
    tombstoned_at   INTEGER,
    done_at         INTEGER
) STRICT;

CREATE INDEX erasures_organization_id ON erasures (organization_id, id);
CREATE INDEX erasures_open ON erasures (id) WHERE state <> 'done';
CREATE UNIQUE INDEX erasures_website ON erasures (owner_id) WHERE kind = 'website';

-- ----------------------------------------------------------------------------
-- Changes: audit, change feed, leases, idempotency
-- ----------------------------------------------------------------------------

-- An entry is written in the transaction of its change. It outlives its resource, so it has no
-- foreign keys.
CREATE TABLE audit_entries (
    id              TEXT PRIMARY KEY,
    at              INTEGER NOT NULL,
    organization_id TEXT NOT NULL,
    actor_type      TEXT NOT NULL CHECK (actor_type IN ('user', 'apiKey', 'operator', 'system')),
    actor_id        TEXT NOT NULL,
    actor_name      TEXT NOT NULL,
    action          TEXT NOT NULL,
    resource_type   TEXT NOT NULL,
    resource_id     TEXT NOT NULL,
    resource_name   TEXT NOT NULL,
    changes         TEXT NOT NULL DEFAULT '{}' CHECK (json_type(changes) = 'object'),
    ip              TEXT NOT NULL,
    user_agent      TEXT NOT NULL,
    request_id      TEXT NOT NULL
) STRICT;

CREATE INDEX audit_entries_organization_id ON audit_entries (organization_id, id);
CREATE INDEX audit_entries_resource ON audit_entries (organization_id, resource_type, resource_id, id);

-- +goose StatementBegin
CREATE TRIGGER audit_entries_stay_as_they_are BEFORE UPDATE ON audit_entries BEGIN
    SELECT RAISE(ABORT, 'audit entries are never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER audit_entries_stay BEFORE DELETE ON audit_entries BEGIN
    SELECT RAISE(ABORT, 'audit entries are never changed');
END;
-- +goose StatementEnd

-- Change events that Kafka has not acknowledged yet, each written in the transaction of its change.
CREATE TABLE outbox (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    kind            TEXT NOT NULL,
    id              TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    version         INTEGER NOT NULL,
    refs            TEXT NOT NULL DEFAULT '[]' CHECK (json_type(refs) = 'array'),
    state           TEXT NOT NULL DEFAULT '',
    gone            INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1)),
    created_at      INTEGER NOT NULL
) STRICT;

-- The last change event that was relayed. A restored backup takes this row back in time, which
-- readers of the change feed detect.
CREATE TABLE control_head (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    epoch   INTEGER NOT NULL,
    relayed INTEGER NOT NULL
) STRICT;

INSERT INTO control_head (one, epoch, relayed) VALUES (1, 1, 0);

-- Work that one process does for all. The holder increments beat; another process takes over when
-- beat does not move. No two clocks are compared.
CREATE TABLE leases (
    name   TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    beat   INTEGER NOT NULL
) STRICT;

-- Calls with an Idempotency-Key, kept for 24 hours. sealed is the response, encrypted with the
-- caller's credential, and NULL while the call runs. changed is set in the transaction of the
-- call's change; a call that was cut off before it changed anything may be made again.
CREATE TABLE idempotent_calls (
    caller       TEXT NOT NULL,
    key_hash     BLOB NOT NULL CHECK (length(key_hash) = 32),
    request_hash BLOB NOT NULL CHECK (length(request_hash) = 32),
    sealed       BLOB,
    changed      INTEGER NOT NULL DEFAULT 1 CHECK (changed IN (0, 1)),
    started_at   INTEGER NOT NULL,
    PRIMARY KEY (caller, key_hash)
) STRICT;

CREATE INDEX idempotent_calls_started_at ON idempotent_calls (started_at);

-- ----------------------------------------------------------------------------
-- Short links
-- ----------------------------------------------------------------------------

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

-- Organizations' own hosts for short links. Several organizations may claim a hostname; one at a
-- time has verified it, and only its links are served.
CREATE TABLE link_domains (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    version         INTEGER NOT NULL CHECK (version > 0),
    hostname        TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'verified', 'failing')),
    token           TEXT NOT NULL,
    root_url        TEXT NOT NULL,
    not_found_url   TEXT NOT NULL,
    expired_url     TEXT NOT NULL,
    case_sensitive  INTEGER NOT NULL CHECK (case_sensitive IN (0, 1)),
    problem         TEXT NOT NULL,
    points_here     INTEGER NOT NULL CHECK (points_here IN (0, 1)),
    bad_days        INTEGER NOT NULL CHECK (bad_days >= 0),
    checked_at      INTEGER,
    verified_at     INTEGER,
    due_at          INTEGER,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    created_by      TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX link_domains_serving ON link_domains (hostname) WHERE status IN ('verified', 'failing');
CREATE UNIQUE INDEX link_domains_claim ON link_domains (organization_id, hostname);

-- domain_id is empty for the shared host. slug_key is the slug in the form that requests are matched
-- by; on a domain the domain's id and a slash precede it. secret is 16 random bytes, hexadecimal,
-- by which visitors are assigned to variants.
CREATE TABLE links (
    id              TEXT PRIMARY KEY,
    organization_id TEXT REFERENCES organizations (id) ON DELETE SET NULL,
    domain_id       TEXT NOT NULL DEFAULT '',
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
    rules           TEXT NOT NULL DEFAULT '[]' CHECK (json_type(rules) = 'array'),
    variants        TEXT NOT NULL DEFAULT '[]' CHECK (json_type(variants) = 'array'),
    preview         TEXT NOT NULL DEFAULT '{}' CHECK (json_type(preview) = 'object'),
    secret          TEXT NOT NULL DEFAULT '',
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    deleted_at      INTEGER,
    created_by      TEXT NOT NULL,
    search_text     TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX links_slug ON links (slug_key);
CREATE UNIQUE INDEX links_external_id ON links (organization_id, external_id) WHERE deleted_at IS NULL;
CREATE INDEX links_organization_id ON links (organization_id, id);
CREATE INDEX links_domain_id ON links (domain_id, id) WHERE domain_id <> '';
CREATE INDEX links_folder_id ON links (folder_id);
CREATE INDEX links_deleted_at ON links (deleted_at) WHERE deleted_at IS NOT NULL;
-- Counts an organization's links against its limit.
CREATE INDEX links_live ON links (organization_id) WHERE deleted_at IS NULL;

-- The first owner of each slug of the shared host keeps it for good: rows are never deleted.
CREATE TABLE link_slugs (
    slug_key        TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL
) STRICT;

-- Tags of links that are not deleted.
CREATE TABLE link_tags (
    organization_id TEXT NOT NULL,
    tag             TEXT NOT NULL,
    link_id         TEXT NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    PRIMARY KEY (organization_id, tag, link_id)
) STRICT;

CREATE INDEX link_tags_link_id ON link_tags (link_id);

-- Clicks used of links with max_clicks.
CREATE TABLE link_uses (
    link_id TEXT PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    used    INTEGER NOT NULL CHECK (used >= 0)
) STRICT;

-- Hosts that a link leads to, each with all of its parent domains, in ASCII and lower case.
CREATE TABLE link_hosts (
    link_id TEXT NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    host    TEXT NOT NULL,
    PRIMARY KEY (link_id, host)
) STRICT;

CREATE INDEX link_hosts_host ON link_hosts (host);

-- Links, by slug_key, and hosts with their subdomains that an operator has blocked.
CREATE TABLE link_blocks (
    kind       TEXT NOT NULL CHECK (kind IN ('link', 'host')),
    name       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT;

-- Changes that hosts apply to the links they hold, kept for a day: one slug_key, or all links of an
-- organization where link_id is empty. The last statement of a transaction takes seq from
-- link_changes_head, so changes become visible in the order of seq.
CREATE TABLE link_changes (
    seq             INTEGER PRIMARY KEY,
    mark            INTEGER NOT NULL,
    organization_id TEXT NOT NULL,
    link_id         TEXT NOT NULL,
    slug_key        TEXT NOT NULL,
    version         INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE link_changes_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
) STRICT;

INSERT INTO link_changes_head (one, seq) VALUES (1, 0);
-- The position of a host that has seen no change.
INSERT INTO link_changes (seq, mark, organization_id, link_id, slug_key, version, changed_at) VALUES (0, 0, '', '', '', 0, 0);

-- ----------------------------------------------------------------------------
-- Feature flags
-- ----------------------------------------------------------------------------

-- A flag belongs to a website, or to all websites of its organization where website_id is NULL, and
-- its key is unique there. definition is JSON as the caller wrote it.
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

-- A flag after each of its latest changes.
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

-- A segment belongs to a website or an organization as a flag does.
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

-- The number of changes to the flags and segments of an organization.
CREATE TABLE flag_sets (
    organization_id TEXT PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    version         INTEGER NOT NULL CHECK (version > 0)
) STRICT;
