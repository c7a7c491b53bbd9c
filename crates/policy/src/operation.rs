//! The three things a call can do.

mcpproxy_wire::words! {
    /// What a call does, in rising order of harm.
    #[derive(PartialOrd, Ord)]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    #[cfg_attr(feature = "openapi", schema(as = OperationType, rename_all = "lowercase"))]
    Operation {
        /// Queries data and changes nothing.
        Read = "read",
        /// Creates or changes something.
        Write = "write",
        /// Deletes, or changes in a way that cannot be undone.
        Destructive = "destructive",
    }
}

impl Operation {
    /// The tool of our menu that declares this operation.
    pub const fn variant(self) -> &'static str {
        match self {
            Self::Read => "call_tool_read",
            Self::Write => "call_tool_write",
            Self::Destructive => "call_tool_destructive",
        }
    }

    /// Finds the operation that a tool of our menu declares.
    pub fn of_variant(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.variant() == name)
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
