-- Tokens of agents, with the columns of the SQLite store.
CREATE TABLE tokens (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    hash text NOT NULL,
    rights text NOT NULL,
    created bigint NOT NULL,
    expires bigint,
    last_used bigint
);

-- The token that a record counts for. The gateway makes these ids itself, so they are short enough for an index.
ALTER TABLE activity ADD COLUMN token_id text;
CREATE INDEX activity_by_token_id ON activity (token_id, id) WHERE token_id IS NOT NULL;
