-- The links of an organization that count: how many there are is looked at with each new
-- one, from this index alone.

-- +goose Up
CREATE INDEX links_live ON links (organization_id) WHERE deleted_at IS NULL;
