-- Where links send different visitors, what is shown of them, and by what their variants
-- are drawn.

-- +goose Up
ALTER TABLE links ADD COLUMN rules TEXT NOT NULL DEFAULT '[]' CHECK (json_type(rules) = 'array');
ALTER TABLE links ADD COLUMN variants TEXT NOT NULL DEFAULT '[]' CHECK (json_type(variants) = 'array');
ALTER TABLE links ADD COLUMN preview TEXT NOT NULL DEFAULT '{}' CHECK (json_type(preview) = 'object');
-- The secret has 16 bytes, in hexadecimal.
ALTER TABLE links ADD COLUMN secret TEXT NOT NULL DEFAULT '';

UPDATE links SET secret = lower(hex(randomblob(16)));
