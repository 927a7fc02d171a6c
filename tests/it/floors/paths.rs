//! The paths that a source file names, each as the crate's root would spell it.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, ExprMethodCall, ItemMod, Macro, UseTree};

/// A source file.
pub struct Source {
    pub path: PathBuf,
    /// Its module, from the crate's root: `crate::rules::claim`.
    pub module: String,
    pub text: String,
    pub lines: usize,
}

/// A path, method or macro that a file names.
#[derive(Debug)]
pub struct Found {
    /// From the crate's root or from a crate's name; a bare name for a method, with `!` for a macro.
    pub path: String,
    pub line: usize,
    pub method: bool,
}

/// What one file says.
pub struct Read {
    /// Everything that it names outside of what is compiled for tests only.
    pub found: Vec<Found>,
    /// Files and directories of the modules that it declares for tests only.
    pub test_modules: Vec<PathBuf>,
}

impl Source {
    pub fn of(path: PathBuf, module: String, text: String) -> Self {
        Self { path, module, lines: text.lines().count(), text }
    }

    /// From the top of the repository.
    pub fn shown(&self) -> String {
        let top = Path::new(env!("CARGO_MANIFEST_DIR"));
        self.path.strip_prefix(top).unwrap_or(&self.path).display().to_string()
    }

    /// Parses the file once, for all that is asked of it.
    pub fn read(&self) -> Read {
        let file = syn::parse_file(&self.text).unwrap_or_else(|why| panic!("{} cannot be parsed: {why}", self.shown()));
        let mut reader = Reader { module: self.module.split("::").map(str::to_owned).collect(), found: Vec::new() };
        reader.visit_file(&file);
        Read { found: reader.found, test_modules: self.test_modules(&file) }
    }

    fn test_modules(&self, file: &syn::File) -> Vec<PathBuf> {
        let dir = self.path.parent().expect("a file lies in a directory");
        let stem = self.path.file_stem().unwrap_or_default();
        let own = if stem == "mod" || stem == "lib" || stem == "main" { dir.to_owned() } else { dir.join(stem) };
        let mut all = Vec::new();
        for item in &file.items {
            let syn::Item::Mod(module) = item else { continue };
            if module.content.is_some() || !is_for_tests(&module.attrs) {
                continue;
            }
            match module.attrs.iter().find(|attr| attr.path().is_ident("path")).map(|attr| &attr.meta) {
                Some(syn::Meta::NameValue(value)) => all.push(dir.join(literal(&value.value))),
                _ => all.extend([own.join(format!("{}.rs", module.ident)), own.join(module.ident.to_string())]),
            }
        }
        all
    }
}

fn literal(value: &syn::Expr) -> String {
    match value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => text.value(),
        _ => panic!("`#[path]` takes a text"),
    }
}

/// Every file below `dir`.
pub fn all(dir: &Path) -> Vec<Source> {
    let mut files = Vec::new();
    gather(dir, "crate", &mut files);
    files
}

fn gather(dir: &Path, module: &str, files: &mut Vec<Source>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).expect("listed").map(|entry| entry.expect("listed").path()).collect();
    entries.sort();
    for path in entries {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            gather(&path, &format!("{module}::{stem}"), files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = if ["mod", "lib", "main"].contains(&stem.as_str()) {
                module.to_owned()
            } else {
                format!("{module}::{stem}")
            };
            let text = std::fs::read_to_string(&path).expect("read");
            files.push(Source::of(path, name, text));
        }
    }
}

fn is_for_tests(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("test")
            || (attr.path().is_ident("cfg")
                && attr.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test"))
    })
}

struct Reader {
    /// Where it is now: `crate`, `rules`, `claim`.
    module: Vec<String>,
    found: Vec<Found>,
}

impl Reader {
    fn push(&mut self, segments: &[String], line: usize) {
        if let Some(path) = self.resolved(segments) {
            self.found.push(Found { path, line, method: false });
        }
    }

    /// As the crate's root would spell it; none for what leads out of the crate by `super`.
    fn resolved(&self, segments: &[String]) -> Option<String> {
        let first = segments.first()?;
        if first != "self" && first != "super" {
            return Some(segments.join("::"));
        }
        let supers = segments.iter().take_while(|segment| *segment == "super" || *segment == "self");
        let up = supers.clone().filter(|segment| *segment == "super").count();
        let kept = self.module.len().checked_sub(up)?;
        let rest = &segments[supers.count()..];
        Some(self.module[..kept].iter().chain(rest).cloned().collect::<Vec<_>>().join("::"))
    }

    fn tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.tree(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(item, before)),
            UseTree::Name(name) if name.ident == "self" => self.push(before, name.span().start().line),
            UseTree::Name(name) => self.push(&with(&name.ident), name.span().start().line),
            UseTree::Rename(name) => self.push(&with(&name.ident), name.span().start().line),
            UseTree::Glob(glob) => self.push(before, glob.span().start().line),
        }
    }

    /// Paths and method calls among the tokens of a macro, which nobody has parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) => {
                    let line = ident.span().start().line;
                    let after_dot = at > 0 && is_punct(&trees[at - 1], '.');
                    let mut segments = vec![ident.to_string()];
                    while let [first, second, TokenTree::Ident(next), ..] = &trees[at + 1..]
                        && is_punct(first, ':')
                        && is_punct(second, ':')
                    {
                        segments.push(next.to_string());
                        at += 3;
                    }
                    if segments.len() > 1 {
                        self.push(&segments, line);
                    } else if after_dot {
                        self.found.push(Found { path: segments.remove(0), line, method: true });
                    } else if trees.get(at + 1).is_some_and(|next| is_punct(next, '!')) {
                        self.found.push(Found { path: format!("{}!", segments[0]), line, method: false });
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
    }
}

fn is_punct(tree: &TokenTree, wanted: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attrs_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.push(&segments, path.span().start().line);
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in path)` widens nothing.
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        // A method with arguments is one of a port.
        if call.args.is_empty() || call.method.to_string().starts_with("unwrap") {
            self.found.push(Found {
                path: call.method.to_string(),
                line: call.method.span().start().line,
                method: true,
            });
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        self.found.push(Found { path: format!("{name}!"), line: call.path.span().start().line, method: false });
        visit::visit_macro(self, call);
        self.tokens(call.tokens.clone());
    }
}

fn attrs_of(item: &syn::Item) -> &[Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
