-- What is to be erased, and how far that got. Ids of profiles and visitors stand
-- here as hashes only. An erasure outlives its organization, for the record.

-- +goose Up
CREATE TABLE erasures (
    id              TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL,
    owner_id        TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('website', 'profile', 'visitor')),
    stones          JSONB NOT NULL CHECK (jsonb_typeof(stones) = 'array'),
    before          BIGINT NOT NULL,
    days            JSONB NOT NULL CHECK (jsonb_typeof(days) = 'array'),
    shared          BIGINT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('requested', 'tombstoned', 'deleting', 'done')),
    deleted         JSONB NOT NULL CHECK (jsonb_typeof(deleted) = 'object'),
    failures        BIGINT NOT NULL,
    actor_type      TEXT NOT NULL,
    actor_id        TEXT NOT NULL,
    actor_name      TEXT NOT NULL,
    requested_at    BIGINT NOT NULL,
    tombstoned_at   BIGINT,
    done_at         BIGINT
);

CREATE INDEX erasures_organization_id ON erasures (organization_id, id);
CREATE INDEX erasures_open ON erasures (id) WHERE state <> 'done';
CREATE UNIQUE INDEX erasures_website ON erasures (owner_id) WHERE kind = 'website';

CREATE INDEX websites_deleted_at ON websites (deleted_at) WHERE deleted_at IS NOT NULL;
