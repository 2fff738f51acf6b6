-- Which links hosts may know wrongly, by each change that was made: a slug under which a
-- link was or is found, or all links of an organization, where link_id is empty. The number
-- of a change is taken from link_changes_head by the last statement of its transaction, so
-- that changes are seen in the order of their numbers. They are kept for a day.

-- +goose Up
CREATE TABLE link_changes (
    seq             BIGINT PRIMARY KEY,
    mark            BIGINT NOT NULL,
    organization_id TEXT NOT NULL,
    link_id         TEXT NOT NULL,
    slug_key        TEXT NOT NULL,
    version         BIGINT NOT NULL,
    changed_at      BIGINT NOT NULL
);

CREATE TABLE link_changes_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq BIGINT NOT NULL
);

INSERT INTO link_changes_head (one, seq) VALUES (1, 0);

-- What somebody has seen who has seen no change yet.
INSERT INTO link_changes (seq, mark, organization_id, link_id, slug_key, version, changed_at) VALUES (0, 0, '', '', '', 0, 0);
