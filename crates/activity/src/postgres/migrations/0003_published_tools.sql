-- Published tools, with the columns of the SQLite store.
CREATE TABLE published_tools (
    server text NOT NULL,
    tool text NOT NULL,
    definition text NOT NULL,
    first_seen bigint NOT NULL,
    deprecation_seen bigint,
    PRIMARY KEY (server, tool)
);
