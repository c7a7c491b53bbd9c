//! Any bytes as the secret of a token, and as a pattern of its tools: only what was made is read, and matching ends.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcpproxy_gateway::tokens::TokenSecret;
use mcpproxy_policy::ToolGlob;

fuzz_target!(|input: (&[u8], &str, &str)| {
    let (sent, pattern, name) = input;
    if let Some(secret) = TokenSecret::parse(sent) {
        assert_eq!(secret.expose().as_bytes(), sent);
        assert_eq!(sent.len(), 48);
        assert!(sent.starts_with(b"mcpp_"));
        assert_eq!(format!("{secret:?}"), "***");
    }
    if let Ok(glob) = ToolGlob::parse(pattern) {
        assert_eq!(glob.as_str(), pattern);
        let has_wildcard = pattern.contains(['*', '?']);
        if !has_wildcard {
            assert_eq!(glob.matches(name), pattern == name);
        }
        if glob.matches_all_of(name) && !name.contains(':') {
            assert!(glob.matches(&format!("{name}:x")));
        }
    }
});
