-- Quotas of organizations, and what their current month has come to. A quota is
-- NULL where the setting decides, and 0 for none.

-- +goose Up
CREATE TABLE quotas (
    organization_id TEXT PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    monthly_events  INTEGER CHECK (monthly_events >= 0),
    month           TEXT NOT NULL,
    used            INTEGER NOT NULL,
    exceeded        INTEGER NOT NULL CHECK (exceeded IN (0, 1)),
    noticed         INTEGER NOT NULL CHECK (noticed IN (0, 80, 100)),
    version         INTEGER NOT NULL,
    counted_at      INTEGER
) STRICT;
