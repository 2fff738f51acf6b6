-- What is to be erased, and how far that got. Ids of profiles and visitors stand
-- here as hashes only. An erasure outlives its organization, for the record.

-- +goose Up
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

CREATE INDEX websites_deleted_at ON websites (deleted_at) WHERE deleted_at IS NOT NULL;
