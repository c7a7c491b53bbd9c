-- Tokens of agents. Times are milliseconds since 1970.
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    rights TEXT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT,
    last_used BIGINT
);

-- The token that a record counts for. Records without one, those of earlier versions among them, cost nothing.
ALTER TABLE activity ADD COLUMN token_id TEXT;
CREATE INDEX activity_by_token_id ON activity (token_id, id) WHERE token_id IS NOT NULL;
