-- +goose Up

-- What the versions of a flag take before its current one. Each counts 1024 bytes besides its texts.
ALTER TABLE flags ADD COLUMN version_bytes INTEGER NOT NULL DEFAULT 0;

UPDATE flags SET version_bytes = (
    SELECT COALESCE(SUM(1024 + octet_length(fv.about) + octet_length(fv.definition)), 0)
    FROM flag_versions AS fv WHERE fv.flag_id = flags.id AND fv.version < flags.version
    );
