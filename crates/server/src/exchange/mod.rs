//! The exchange with a client, the same for every adapter: a [`Request`](request::Request) comes in,
//! a [`Reply`](reply::Reply) goes out. Start reading at [`dispatch`].

pub(crate) mod change_feed;
mod client_link;
pub(crate) mod client_requests;
pub(crate) mod dispatch;
pub(crate) mod endpoint;
pub(crate) mod in_flight;
pub(crate) mod params;
mod prompts_resources;
pub(crate) mod reply;
pub(crate) mod request;
mod request_state;
mod running_call;
pub(crate) mod session;
mod suspended_calls;
mod tools;

#[cfg(test)]
mod test_call;

pub(crate) use dispatch::Exchange;
