-- When an organization was deleted; NULL while it exists. Its rows stay until it can
-- be restored no more.

-- +goose Up
ALTER TABLE organizations ADD COLUMN deleted_at BIGINT;

CREATE INDEX organizations_deleted_at ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;
