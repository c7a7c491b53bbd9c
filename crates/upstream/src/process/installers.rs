//! Commands that install a package before they run the server that is in it. This module is pure.

use crate::spec::StdioSpec;

/// Commands that do so always.
const ALWAYS: &[&str] = &["npx", "uvx", "bunx", "pipx", "pnpx"];

/// Commands that do so with one of these words as their first argument that is no option.
const WITH_WORD: &[(&str, &[&str])] = &[
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx", "exec"]),
    ("yarn", &["dlx"]),
    ("bun", &["x"]),
    ("uv", &["run", "tool"]),
    ("deno", &["run"]),
    ("docker", &["run", "compose"]),
    ("podman", &["run"]),
    ("go", &["run"]),
    ("cargo", &["run"]),
];

/// Whether the command of a server may install it first.
pub(crate) fn installs_first(spec: &StdioSpec) -> bool {
    let name = spec.command.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    let name = [".exe", ".cmd", ".bat"]
        .iter()
        .find_map(|extension| name.strip_suffix(extension))
        .unwrap_or(&name);
    if ALWAYS.contains(&name) {
        return true;
    }
    // Windows cannot start a script itself, so clients write `cmd /c npx …`.
    let mut words = spec.args.iter().map(String::as_str);
    let mut word = words.find(|one| !one.starts_with(['-', '/']));
    if name == "cmd" && word.is_some_and(|one| ALWAYS.contains(&one)) {
        return true;
    }
    let known = WITH_WORD.iter().find(|(one, _)| *one == name);
    // An option may have a value, which looks like a word: `docker --context x run`.
    known.is_some_and(|(_, wanted)| {
        while let Some(one) = word {
            if wanted.contains(&one) {
                return true;
            }
            word = words.next();
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InheritEnv;

    #[test]
    fn commands_that_install_first_are_known() {
        for (command, expected) in [
            ("npx -y @modelcontextprotocol/server-filesystem /data", true),
            ("/usr/local/bin/uvx mcp-server-time", true),
            ("C:\\Program_Files\\nodejs\\npx.cmd -y x", true),
            ("cmd /c npx -y x", true),
            ("bunx x", true),
            ("pipx run x", true),
            ("uv run server.py", true),
            ("uv --directory /srv run server.py", true),
            ("uv tool run x", true),
            ("pnpm dlx x", true),
            ("npm exec x", true),
            ("docker run -i --rm mcp/time", true),
            ("node npx", false),
            ("python -m uvx", false),
            ("docker start x", false),
            ("uv", false),
            ("cmd /c dir", false),
        ] {
            let mut words = command.split(' ').map(str::to_owned);
            let spec = StdioSpec {
                command: words.next().unwrap_or_default(),
                args: words.collect(),
                env: Vec::new(),
                inherit_env: InheritEnv::default(),
                working_dir: None,
                config_dir: None,
            };
            assert_eq!(installs_first(&spec), expected, "{command}");
        }
    }
}
