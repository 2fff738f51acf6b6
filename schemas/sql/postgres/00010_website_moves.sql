-- The organizations that a website belonged to before, each with when it left last:
-- what was stored counts as sent by them, and is the website's.

-- +goose Up
CREATE TABLE website_moves (
    website_id      TEXT NOT NULL REFERENCES websites (id) ON DELETE CASCADE,
    organization_id TEXT NOT NULL,
    moved_at        BIGINT NOT NULL,
    PRIMARY KEY (website_id, organization_id)
);

CREATE INDEX website_moves_organization_id ON website_moves (organization_id);
