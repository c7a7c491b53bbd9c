//! Modules of one crate, with what each defines and which others it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Token, after_visibility, group_end, read, tokens, without_tests};

/// Re-exports followed for one path; more of them are a circle.
const MOST_REEXPORTS: usize = 16;

/// Product modules of one crate. The first is its root.
#[derive(Debug, Default)]
pub(crate) struct CrateModules {
    pub(crate) modules: Vec<Module>,
    /// Files that only tests compile.
    pub(crate) test_files: BTreeSet<PathBuf>,
}

/// One module: a file, a folder's `mod.rs` or a block inside a file.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Path below the crate's root, which has none itself.
    pub(crate) path: Vec<String>,
    pub(crate) file: PathBuf,
    pub(crate) parent: Option<usize>,
    pub(crate) children: BTreeMap<String, usize>,
    /// Types, traits and type aliases that it defines, each with its line.
    pub(crate) types: Vec<(String, usize)>,
    /// Paths it names, in `use` and elsewhere, each with its line.
    pub(crate) paths: Vec<(Vec<String>, usize)>,
    imports: Vec<Import>,
    items: BTreeSet<String>,
}

/// One name that `use` brings into a module; `*` for all names of another module.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    path: Vec<String>,
    name: String,
}

impl CrateModules {
    /// Reads the modules of a crate from its folder.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let mut modules = Self::default();
        modules.modules.push(Module::default());
        for root in ["src/lib.rs", "src/main.rs"] {
            let file = folder.join(root);
            if file.is_file() {
                modules.load_file(&file, 0)?;
            }
        }
        Ok(modules)
    }

    fn load_file(&mut self, file: &Path, module: usize) -> Result<()> {
        self.modules[module].file = file.to_path_buf();
        let source = read(file)?;
        let all = tokens(&source);
        let product = without_tests(&all);
        for name in product.test_modules {
            self.load_test_file(&child_file(file, &[], name)?)?;
        }
        let mut scan = Scan {
            modules: self,
            blocks: vec![Block::Module(module)],
            pending: None,
            files: Vec::new(),
        };
        scan.run(&product.tokens);
        for (parent, name) in scan.files {
            let inside = &self.modules[parent].path[self.modules[module].path.len()..];
            let child = child_file(file, inside, &name)?;
            let index = self.add(parent, &name, file);
            self.load_file(&child, index)?;
        }
        Ok(())
    }

    /// Notes a file that only tests compile, and those below it.
    fn load_test_file(&mut self, file: &Path) -> Result<()> {
        let source = read(file)?;
        for declaration in tokens(&source).windows(3) {
            if let [keyword, name, end] = declaration
                && keyword.is("mod")
                && end.is(";")
            {
                self.load_test_file(&child_file(file, &[], name.text)?)?;
            }
        }
        self.test_files.insert(file.to_path_buf());
        Ok(())
    }

    fn add(&mut self, parent: usize, name: &str, file: &Path) -> usize {
        let index = self.modules.len();
        let mut path = self.modules[parent].path.clone();
        path.push(name.to_owned());
        self.modules.push(Module {
            path,
            file: file.to_path_buf(),
            parent: Some(parent),
            ..Module::default()
        });
        self.modules[parent].children.insert(name.to_owned(), index);
        index
    }

    /// Module that defines what a path names, seen from a module; none if that is another crate's.
    pub(crate) fn resolve(&self, from: usize, path: &[String]) -> Option<usize> {
        self.resolve_within(from, path, MOST_REEXPORTS)
    }

    fn resolve_within(&self, from: usize, path: &[String], budget: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(0, rest, budget),
            "self" => self.descend(from, rest, budget),
            "super" => self.resolve_super(self.modules[from].parent?, rest, budget),
            name if self.modules[from].knows(name) => self.descend(from, path, budget),
            _ => None,
        }
    }

    fn resolve_super(&self, parent: usize, rest: &[String], budget: usize) -> Option<usize> {
        match rest.split_first() {
            Some((first, rest)) if first == "super" => {
                self.resolve_super(self.modules[parent].parent?, rest, budget)
            }
            _ => self.descend(parent, rest, budget),
        }
    }

    fn descend(&self, base: usize, path: &[String], budget: usize) -> Option<usize> {
        let Some((name, rest)) = path.split_first() else {
            return Some(base);
        };
        let module = &self.modules[base];
        if let Some(&child) = module.children.get(name) {
            return self.descend(child, rest, budget);
        }
        if module.items.contains(name) || budget == 0 {
            return Some(base);
        }
        if let Some(import) = module.imports.iter().find(|import| import.name == *name) {
            let target = [&import.path, rest].concat();
            return self.resolve_within(base, &target, budget - 1);
        }
        let globs = module.imports.iter().filter(|import| import.name == "*");
        for import in globs {
            if let Some(target) = self.resolve_within(base, &import.path, budget - 1)
                && target != base
                && self.modules[target].knows(name)
            {
                return self.descend(target, path, budget - 1);
            }
        }
        Some(base)
    }
}

impl Module {
    fn knows(&self, name: &str) -> bool {
        self.children.contains_key(name)
            || self.items.contains(name)
            || self.imports.iter().any(|import| import.name == name)
    }

    /// Name for messages, such as `crate::exchange::dispatch`.
    pub(crate) fn name(&self) -> String {
        let mut name = "crate".to_owned();
        for part in &self.path {
            name.push_str("::");
            name.push_str(part);
        }
        name
    }
}

/// File of a module that is declared in `file`, inside the blocks `inside`.
fn child_file(file: &Path, inside: &[String], name: &str) -> Result<PathBuf> {
    let mut folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    if let Some(stem) = stem.filter(|stem| !["lib", "main", "mod"].contains(stem)) {
        folder.push(stem);
    }
    folder.extend(inside);
    [format!("{name}.rs"), format!("{name}/mod.rs")]
        .into_iter()
        .map(|candidate| folder.join(candidate))
        .find(|candidate| candidate.is_file())
        .with_context(|| {
            format!(
                "`{}` declares `mod {name}`, which has no file",
                file.display()
            )
        })
}

/// Block that a token is in.
#[derive(Clone, Copy)]
enum Block {
    Module(usize),
    /// An `impl` or a trait, whose types are associated ones.
    Implementation,
    Other,
}

/// Pass over the tokens of one file.
struct Scan<'m> {
    modules: &'m mut CrateModules,
    blocks: Vec<Block>,
    /// What the next opening brace opens.
    pending: Option<Block>,
    /// Modules declared here that have files of their own.
    files: Vec<(usize, String)>,
}

impl Scan<'_> {
    fn run(&mut self, tokens: &[Token<'_>]) {
        let mut position = 0;
        while position < tokens.len() {
            position = self.step(tokens, position);
        }
    }

    /// Reads what begins at a position, and returns where the next thing does.
    fn step(&mut self, tokens: &[Token<'_>], position: usize) -> usize {
        let token = tokens[position];
        let next = tokens.get(position + 1).copied();
        let names = next.filter(|next| next.is_identifier());
        match (token.text, names) {
            ("{", _) => self
                .blocks
                .push(self.pending.take().unwrap_or(Block::Other)),
            ("}", _) => drop(self.blocks.pop()),
            (";", _) => self.pending = None,
            ("pub", _) => return after_visibility(tokens, position),
            ("use", _) if !next.is_some_and(|next| next.is("<")) => {
                return self.import(tokens, position);
            }
            ("mod", Some(name)) => self.declare_module(name, tokens.get(position + 2)),
            ("struct" | "enum" | "type", Some(name)) => self.define_type(name, Block::Other),
            ("trait", Some(name)) => self.define_type(name, Block::Implementation),
            ("fn", Some(name)) => {
                self.define(name.text);
                self.pending.get_or_insert(Block::Other);
            }
            ("const" | "static", Some(name)) => self.define(name.text),
            ("!", Some(name)) if position > 0 && tokens[position - 1].is("macro_rules") => {
                self.define(name.text);
            }
            ("impl", _) => {
                self.pending.get_or_insert(Block::Implementation);
            }
            _ if token.is_identifier() && next.is_some_and(|next| next.is("::")) => {
                return self.path(tokens, position);
            }
            _ => {}
        }
        position + 1
    }

    fn module(&self) -> usize {
        self.blocks
            .iter()
            .rev()
            .find_map(|block| match block {
                Block::Module(index) => Some(*index),
                _ => None,
            })
            .unwrap_or(0)
    }

    fn declare_module(&mut self, name: Token<'_>, after: Option<&Token<'_>>) {
        let parent = self.module();
        match after {
            Some(end) if end.is(";") => self.files.push((parent, name.text.to_owned())),
            Some(open) if open.is("{") => {
                let file = self.modules.modules[parent].file.clone();
                let index = self.modules.add(parent, name.text, &file);
                self.pending = Some(Block::Module(index));
            }
            _ => {}
        }
    }

    fn define_type(&mut self, name: Token<'_>, opens: Block) {
        if matches!(self.blocks.last(), Some(Block::Implementation)) {
            return;
        }
        self.define(name.text);
        let module = self.module();
        self.modules.modules[module]
            .types
            .push((name.text.to_owned(), name.line));
        self.pending.get_or_insert(opens);
    }

    fn define(&mut self, name: &str) {
        if let Some(Block::Module(index)) = self.blocks.last() {
            self.modules.modules[*index].items.insert(name.to_owned());
        }
    }

    fn import(&mut self, tokens: &[Token<'_>], position: usize) -> usize {
        let end = tokens[position..]
            .iter()
            .position(|token| token.is(";"))
            .map_or(tokens.len(), |length| position + length);
        let mut imports = Vec::new();
        use_tree(&tokens[position + 1..end], &[], &mut imports);
        let module = self.module();
        let module = &mut self.modules.modules[module];
        for import in imports {
            module
                .paths
                .push((import.path.clone(), tokens[position].line));
            module.imports.push(import);
        }
        end
    }

    fn path(&mut self, tokens: &[Token<'_>], start: usize) -> usize {
        let mut path = vec![tokens[start].text.to_owned()];
        let mut position = start + 1;
        while let [separator, name, ..] = &tokens[position..]
            && separator.is("::")
            && name.is_identifier()
        {
            path.push(name.text.to_owned());
            position += 2;
        }
        let module = self.module();
        self.modules.modules[module]
            .paths
            .push((path, tokens[start].line));
        position
    }
}

/// Reads one tree of a `use` declaration, without the keyword and the semicolon.
fn use_tree(tree: &[Token<'_>], prefix: &[String], imports: &mut Vec<Import>) {
    let mut path = prefix.to_vec();
    for (position, token) in tree.iter().enumerate() {
        match token.text {
            "::" if position > 0 || !prefix.is_empty() => {}
            "{" => {
                let end = group_end(tree, position);
                for part in split_at_commas(&tree[position + 1..end - 1]) {
                    use_tree(part, &path, imports);
                }
                return;
            }
            "as" => {
                let name = tree[position + 1].text.to_owned();
                imports.push(Import { path, name });
                return;
            }
            "*" => {
                let name = "*".to_owned();
                imports.push(Import { path, name });
                return;
            }
            "self" if !path.is_empty() => {}
            // A path that begins with `::` is another crate's.
            text => path.push(text.to_owned()),
        }
    }
    if let Some(name) = path.last().cloned() {
        imports.push(Import { path, name });
    }
}

fn split_at_commas<'t, 'a>(tree: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut position = 0;
    while position < tree.len() {
        if tree[position].is("{") {
            position = group_end(tree, position);
            continue;
        }
        if tree[position].is(",") {
            parts.push(&tree[start..position]);
            start = position + 1;
        }
        position += 1;
    }
    parts.push(&tree[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_trees_are_taken_apart() {
        let check = |tree: &str, expected: &[(&str, &str)]| {
            let mut imports = Vec::new();
            use_tree(&tokens(tree), &[], &mut imports);
            let found: Vec<(String, &str)> = imports
                .iter()
                .map(|import| (import.path.join("::"), import.name.as_str()))
                .collect();
            let found: Vec<(&str, &str)> =
                found.iter().map(|(path, name)| (&**path, *name)).collect();
            assert_eq!(found, expected, "{tree}");
        };
        check("crate::a::B", &[("crate::a::B", "B")]);
        check(
            "super::{a::{self, B}, C as D, e::*}",
            &[
                ("super::a", "a"),
                ("super::a::B", "B"),
                ("super::C", "D"),
                ("super::e", "*"),
            ],
        );
    }

    #[test]
    fn types_are_found_but_not_associated_ones() {
        let folder = Fixture::new("types");
        folder.write(
            "lib.rs",
            "pub struct A; impl B for A { type C = D; } trait E { type F; } fn g() -> impl H { enum I {} }\n\
             type J = K; #[cfg(test)] struct L;",
        );
        let modules = folder.load();
        let types: Vec<&str> = modules.modules[0]
            .types
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(types, ["A", "E", "I", "J"]);
    }

    #[test]
    fn reexports_lead_to_the_module_that_defines() {
        let folder = Fixture::new("reexports");
        folder.write("lib.rs", "mod a; mod b; pub use a::Thing; use b::*;");
        folder.write("a/mod.rs", "mod inner; pub use inner::Thing as Thing;");
        folder.write(
            "a/inner.rs",
            "pub struct Thing; use super::super::b::Other;",
        );
        folder.write("b.rs", "pub struct Other; use std::fmt;");
        let modules = folder.load();
        let check = |path: &str, expected: &str| {
            let path: Vec<String> = path.split("::").map(str::to_owned).collect();
            let inner = modules
                .modules
                .iter()
                .position(|module| module.name() == "crate::a::inner")
                .unwrap();
            let found = modules.resolve(inner, &path);
            let found = found.map_or("none".to_owned(), |found| modules.modules[found].name());
            assert_eq!(found, expected, "{path:?}");
        };
        check("crate::Thing", "crate::a::inner");
        check("super::Thing::new", "crate::a::inner");
        check("crate::Other", "crate::b");
        check("super::super::b::Other", "crate::b");
        check("Other::new", "crate::b");
        check("std::fmt", "none");
    }

    #[test]
    fn files_that_only_tests_reach_are_known() {
        let folder = Fixture::new("test_files");
        folder.write("lib.rs", "mod a; #[cfg(test)] mod rehearsal;");
        folder.write("a.rs", "");
        folder.write("rehearsal.rs", "mod stage;");
        folder.write("rehearsal/stage.rs", "");
        let modules = folder.load();
        let names: Vec<_> = modules
            .test_files
            .iter()
            .filter_map(|file| file.file_name())
            .collect();
        assert_eq!(names, ["stage.rs", "rehearsal.rs"]);
        assert_eq!(modules.modules.len(), 2);
    }

    /// Crate in a temporary folder.
    struct Fixture(PathBuf);

    impl Fixture {
        fn new(name: &str) -> Self {
            let name = format!("xtask-modules-{}-{name}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }

        fn write(&self, file: &str, source: &str) {
            let file = self.0.join("src").join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, source).unwrap();
        }

        fn load(&self) -> CrateModules {
            CrateModules::load(&self.0).unwrap()
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }
}
