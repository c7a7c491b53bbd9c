-- One row for each record. What is counted and filtered by comes first and the long texts last, so
-- that counting does not read the pages the long texts run over into.
CREATE TABLE activity (
    place INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    type TEXT,
    server_name TEXT,
    tool_name TEXT,
    intent_type TEXT,
    status TEXT,
    sensitivity TEXT,
    agent TEXT,
    session_id TEXT,
    request_id BLOB,
    parent_id BLOB,
    trace_id TEXT,
    tool_variant TEXT,
    timestamp INTEGER,
    duration_us INTEGER,
    chain BLOB NOT NULL,
    opened_seq INTEGER,
    opened_prev_hash BLOB,
    opened_hash BLOB,
    seq INTEGER,
    prev_hash BLOB,
    hash BLOB,
    error_code TEXT,
    arguments_size INTEGER,
    arguments_cut INTEGER,
    response_size INTEGER,
    response_cut INTEGER,
    error_message TEXT,
    warnings TEXT,
    metadata TEXT,
    arguments TEXT,
    response TEXT
);

CREATE UNIQUE INDEX activity_by_id ON activity (id);
CREATE UNIQUE INDEX activity_by_seq ON activity (chain, seq) WHERE seq IS NOT NULL;
CREATE UNIQUE INDEX activity_by_opened_seq ON activity (chain, opened_seq) WHERE opened_seq IS NOT NULL;

-- Each ends in the id, so that a filtered page comes out in order. Those that leave out the rows
-- without a value cost nothing where a record has none.
CREATE INDEX activity_by_type ON activity (type, id);
CREATE INDEX activity_by_status ON activity (status, id);
CREATE INDEX activity_by_server_name ON activity (server_name, id) WHERE server_name IS NOT NULL;
CREATE INDEX activity_by_tool_name ON activity (tool_name, id) WHERE tool_name IS NOT NULL;
CREATE INDEX activity_by_intent_type ON activity (intent_type, id) WHERE intent_type IS NOT NULL;
CREATE INDEX activity_by_session_id ON activity (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX activity_by_request_id ON activity (request_id, id) WHERE request_id IS NOT NULL;
CREATE INDEX activity_by_sensitivity ON activity (sensitivity, id) WHERE sensitivity IS NOT NULL;
CREATE INDEX activity_by_agent ON activity (agent, id) WHERE agent IS NOT NULL;

-- Rows that are in no chain, or whose place in one cannot be read. The log writes none, so this is
-- empty until somebody else does.
CREATE INDEX activity_stray ON activity (id)
    WHERE (seq IS NULL AND opened_seq IS NULL)
        OR typeof(seq) NOT IN ('integer', 'null')
        OR typeof(opened_seq) NOT IN ('integer', 'null')
        OR typeof(chain) <> 'blob'
        OR length(chain) <> 16;

-- The words that records are found by. They come ready-made: letters and digits in small letters,
-- which this tokenizer never splits, since it takes everything beyond ASCII for a letter.
CREATE VIRTUAL TABLE activity_words USING fts5 (
    words,
    content = '',
    contentless_delete = 1,
    detail = none,
    tokenize = "ascii tokenchars '-_'"
);
