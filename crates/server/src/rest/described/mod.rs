//! Parts of the description of the REST interface that handlers name: what they take, what they answer, and how they
//! refuse.

pub(crate) mod parameters;
pub(crate) mod refusals;
pub(crate) mod schemas;
