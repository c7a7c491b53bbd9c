-- Tools as servers that announce the tool contract published them. Times are milliseconds since 1970.
CREATE TABLE published_tools (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    definition TEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    deprecation_seen BIGINT,
    PRIMARY KEY (server, tool)
);
