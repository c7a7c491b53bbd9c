//! The store of several replicas: PostgreSQL.
