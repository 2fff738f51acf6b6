-- What was changed, by whom, and what other processes have yet to hear of it.
-- Both are written in the transaction of the change itself.

-- +goose Up
-- An entry outlives what it is about, so nothing here refers to other tables.
CREATE TABLE audit_entries (
    id              TEXT PRIMARY KEY,
    at              BIGINT NOT NULL,
    organization_id TEXT NOT NULL,
    actor_type      TEXT NOT NULL CHECK (actor_type IN ('user', 'apiKey', 'operator', 'system')),
    actor_id        TEXT NOT NULL,
    actor_name      TEXT NOT NULL,
    action          TEXT NOT NULL,
    resource_type   TEXT NOT NULL,
    resource_id     TEXT NOT NULL,
    resource_name   TEXT NOT NULL,
    changes         JSONB NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(changes) = 'object'),
    ip              TEXT NOT NULL,
    user_agent      TEXT NOT NULL,
    request_id      TEXT NOT NULL
);

CREATE INDEX audit_entries_organization_id ON audit_entries (organization_id, id);
CREATE INDEX audit_entries_resource ON audit_entries (organization_id, resource_type, resource_id, id);

-- +goose StatementBegin
CREATE FUNCTION audit_entries_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are never changed';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER audit_entries_stay BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit_entries_stay();

-- A row stays until Kafka has acknowledged its message.
CREATE TABLE outbox (
    seq             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind            TEXT NOT NULL,
    id              TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    version         BIGINT NOT NULL,
    refs            JSONB NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(refs) = 'array'),
    state           TEXT NOT NULL DEFAULT '',
    gone            BOOLEAN NOT NULL DEFAULT FALSE,
    created_at      BIGINT NOT NULL
);

-- What the outbox has come to. Its one row goes back in time with the whole
-- store, which is how a restored backup is noticed.
CREATE TABLE control_head (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    epoch   BIGINT NOT NULL,
    relayed BIGINT NOT NULL
);

INSERT INTO control_head (one, epoch, relayed) VALUES (1, 1, 0);

-- Work that one process does for all. A holder counts beat up; whoever sees it
-- stand still may take over, so that no two clocks are compared.
CREATE TABLE leases (
    name   TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    beat   BIGINT NOT NULL
);
