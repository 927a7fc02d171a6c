//! What is not there: modules, packages, commands.

use super::found::{Draft, Found};
use crate::domain::failure::Kind;
use crate::rules::failure::mask::pattern;
use crate::rules::failure::text::Text;
use crate::rules::failure::{path, python};

pattern!(
    NODE,
    r#"(?:Cannot find (?:module|package)|Failed to resolve import|Could not resolve|Can't resolve|Failed to load url) (?:['"]([^'"]+)['"]|([^\s'"(]+) \(resolved id)"#
);
pattern!(
    GO,
    r#"(?:no required module provides package|cannot find package|cannot find module providing package|package) "?([\w./-]+)"?(?:;|:| is not in| in any of| provided by)"#
);
pattern!(RUBY, r"cannot load such file -- (\S+)");
pattern!(PERL, r"Can't locate (\S+) in @INC");
pattern!(HEADER, r"fatal error: '?([\w./+-]+)'?(?:: No such file| file not found)");
pattern!(
    COMMAND,
    r"(?x)^(?:\S*(?:bash|sh|dash|zsh):\ (?:(?:line\ )?\d+:\ )?(?P<a>[\w./+@-]+):\ (?:command\ )?not\ found
     | (?:bash:\ |zsh:\ )?command\ not\ found:\ (?P<b>[\w./+-]+)
     | \S*:\ line\ \d+:\ (?P<c>[\w./+-]+):\ command\ not\ found
     | env:\ [‘'](?P<d>[\w./+-]+)[’']:\ No\ such\ file
     | make(?:\[\d+\])?:\ (?P<e>[\w./+-]+):\ No\ such\ file\ or\ directory
     | '(?P<f>[\w./+-]+)'\ is\ not\ recognized\ as
     | error:\ no\ such\ command:\ `(?P<g>[\w-]+)`)"
);

pub fn read(text: &Text<'_>, found: &mut Found) {
    for (at, line) in text.open().collect::<Vec<_>>() {
        if let Some(module) = module(line) {
            found.push(Draft::new(Kind::MissingModule, module).message(line));
            text.claim(at, at + 1);
        }
    }
}

fn module(line: &str) -> Option<String> {
    let not_there = line.contains("not found")
        || line.contains("No such file")
        || line.contains("not recognized")
        || line.contains("no such command");
    if not_there && let Some(command) = COMMAND.captures(line) {
        let name = ["a", "b", "c", "d", "e", "f", "g"].iter().find_map(|name| command.name(name))?;
        return Some(format!("command:{}", path::stable(name.as_str())));
    }
    python::missing_module(line).or_else(|| node_module(line)).or_else(|| go_module(line)).or_else(|| other(line))
}

pub fn node_module(line: &str) -> Option<String> {
    if !line.contains("annot find") && !line.contains("resolve") && !line.contains("load url") {
        return None;
    }
    let found = NODE.captures(line)?;
    let name = found.get(1).or(found.get(2))?.as_str();
    Some(format!("node:{}", if name.starts_with('/') { path::stable(name) } else { name.to_owned() }))
}

pub fn go_module(line: &str) -> Option<String> {
    let name = line.contains("package ").then(|| GO.captures(line)).flatten()?;
    Some(format!("go:{}", &name[1]))
}

pub fn header(message: &str) -> Option<String> {
    HEADER.captures(message).map(|name| format!("c:{}", &name[1]))
}

fn other(line: &str) -> Option<String> {
    let ruby =
        line.contains("cannot load").then(|| RUBY.captures(line)).flatten().map(|name| format!("ruby:{}", &name[1]));
    ruby.or_else(|| {
        line.contains("Can't locate").then(|| PERL.captures(line)).flatten().map(|name| format!("perl:{}", &name[1]))
    })
}
