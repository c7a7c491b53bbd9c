-- One row for each record, with the columns of the SQLite store.
CREATE TABLE activity (
    id uuid NOT NULL,
    type text,
    server_name text,
    tool_name text,
    intent_type text,
    status text,
    sensitivity text,
    agent text,
    session_id text,
    request_id uuid,
    parent_id uuid,
    trace_id text,
    tool_variant text,
    timestamp bigint,
    duration_us bigint,
    chain uuid NOT NULL,
    opened_seq bigint,
    opened_prev_hash bytea,
    opened_hash bytea,
    seq bigint,
    prev_hash bytea,
    hash bytea,
    error_code text,
    arguments_size bigint,
    arguments_cut bigint,
    response_size bigint,
    response_cut bigint,
    error_message text,
    warnings text,
    metadata text,
    arguments text,
    response text,
    -- The words it is found by, ready-made: no dictionary of the server has a part in it.
    words tsvector
);

CREATE UNIQUE INDEX activity_by_id ON activity (id);
CREATE UNIQUE INDEX activity_by_seq ON activity (chain, seq);
CREATE UNIQUE INDEX activity_by_opened_seq ON activity (chain, opened_seq) WHERE opened_seq IS NOT NULL;

-- Each ends in the id, so that a filtered page comes out in order.
CREATE INDEX activity_by_type ON activity (type, id);
CREATE INDEX activity_by_status ON activity (status, id);
CREATE INDEX activity_by_intent_type ON activity (intent_type, id) WHERE intent_type IS NOT NULL;
CREATE INDEX activity_by_sensitivity ON activity (sensitivity, id) WHERE sensitivity IS NOT NULL;
CREATE INDEX activity_by_request_id ON activity (request_id, id) WHERE request_id IS NOT NULL;

-- These texts come from outside. An index refuses rows beyond some 2700 bytes, and a record must
-- not be lost for a long name, so only how they begin is in it.
CREATE INDEX activity_by_server_name ON activity (left(server_name, 200), id) WHERE server_name IS NOT NULL;
CREATE INDEX activity_by_tool_name ON activity (left(tool_name, 200), id) WHERE tool_name IS NOT NULL;
CREATE INDEX activity_by_session_id ON activity (left(session_id, 200), id) WHERE session_id IS NOT NULL;
CREATE INDEX activity_by_agent ON activity (left(agent, 200), id) WHERE agent IS NOT NULL;

-- Rows that are in no chain. The log writes none, so this is empty until somebody else does.
CREATE INDEX activity_stray ON activity (id) WHERE seq IS NULL AND opened_seq IS NULL;

CREATE INDEX activity_by_words ON activity USING gin (words);
