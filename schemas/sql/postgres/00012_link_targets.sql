-- Where links send different visitors, what is shown of them, and by what their variants
-- are drawn.

-- +goose Up
ALTER TABLE links ADD COLUMN rules JSONB NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(rules) = 'array');
ALTER TABLE links ADD COLUMN variants JSONB NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(variants) = 'array');
ALTER TABLE links ADD COLUMN preview JSONB NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(preview) = 'object');
-- The secret has 16 bytes, in hexadecimal.
ALTER TABLE links ADD COLUMN secret TEXT NOT NULL DEFAULT '';

UPDATE links SET secret = replace(gen_random_uuid()::TEXT, '-', '');
