//! Lists of objects as aligned columns, without borders.

use comfy_table::{Attribute, Cell, ColumnConstraint, ContentArrangement, Table, Width};
use serde_json::{Map, Value};

use super::render::Look;
use super::text::{is_id, label, neutral, relative, shortened, stamp};

/// The most characters of one cell; the rest is in `--json`. No text that kctl itself writes is so long.
const MAX_CELL_CHARS: usize = 2_000;

/// Members that count what went wrong: while nothing did, they say nothing.
const COUNTERS: [&str; 1] = ["repeat_count"];

/// A member that stands in every table that has it, and what is said where it is not given.
const SAID_WHERE_ABSENT: (&str, &str) = ("enforced_by", "unenforced");

/// A word up to so many columns is never cut: a table is rather let run over.
const MAX_WORD_COLUMNS: usize = 200;

/// A table is laid out for so many columns at least.
const MIN_COLUMNS: usize = 20;

/// The room between two columns, in characters.
const GAP: usize = 2;

/// A column whose widest cell has at most so many characters is never wrapped.
const MAX_FIXED_CHARS: usize = 20;

/// Member names, or paths with dots, in the order in which they are shown.
pub(super) type Columns = Vec<String>;

/// Renders `rows` with the columns `names`. Where they do not fit, those that are zero in every row are left out.
pub(super) fn table(rows: &[&Map<String, Value>], names: &Columns, indent: usize, look: &Look) -> String {
    let whole = render(rows, names, indent, look);
    let fits = |text: &str| look.columns.is_none_or(|columns| text.lines().all(|line| width(line) <= columns));
    if look.verbose > 0 || fits(&whole) {
        return whole;
    }
    let is_zero =
        |row: &&Map<String, Value>, name: &str| find(row, name).is_some_and(|value| value.as_f64() == Some(0.0));
    let told = names.iter().filter(|name| !rows.iter().all(|row| is_zero(row, name)));
    render(rows, &told.cloned().collect(), indent, look)
}

/// How many characters of a line are seen.
fn width(line: &str) -> usize {
    anstream::adapter::strip_str(line).to_string().chars().count()
}

fn render(rows: &[&Map<String, Value>], names: &Columns, indent: usize, look: &Look) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).force_no_tty();
    if look.colour {
        table.enforce_styling();
    }
    table.set_header(
        names.iter().map(|name| Cell::new(neutral(label(name)).to_uppercase()).add_attribute(Attribute::Dim)),
    );
    let mut words = vec![0; names.len()];
    for row in rows {
        let texts: Vec<String> = names.iter().map(|name| said(row, name, look)).collect();
        for (longest, text) in words.iter_mut().zip(&texts) {
            let word = text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
            *longest = word.max(*longest);
        }
        table.add_row(texts.into_iter().map(cell));
    }
    arrange(&mut table, &words, indent, look);
    // The first column would start with the padding that stands between columns.
    for column in table.column_iter_mut() {
        column.set_padding((0, characters(GAP)));
    }
    let indent = " ".repeat(indent);
    table.lines().map(|line| format!("{indent}{}\n", line.trim_end())).collect()
}

/// Shares the width out. `words` are the columns' longest words, in characters.
fn arrange(table: &mut Table, words: &[usize], indent: usize, look: &Look) {
    let Some(columns) = look.columns else {
        table.set_content_arrangement(ContentArrangement::Disabled);
        return;
    };
    let width = columns.saturating_sub(indent).max(MIN_COLUMNS);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(characters(width));
    let least = |index: usize, most: u16| match usize::from(most) {
        most if most <= MAX_FIXED_CHARS => most,
        _ => words[index].max(MAX_FIXED_CHARS),
    };
    let widths = table.column_max_content_widths();
    let needed: usize = widths.iter().enumerate().map(|(index, &most)| least(index, most) + GAP).sum();
    // Ids, paths and states stay whole, to be copied, and long texts share what is left. A table that is too wide even
    // so is let run over rather than have its words cut in two.
    if needed > width {
        table.set_width(characters(needed));
    }
    for (index, &most) in widths.iter().enumerate() {
        let constraint = match usize::from(most) <= MAX_FIXED_CHARS {
            true => ColumnConstraint::ContentWidth,
            false => ColumnConstraint::LowerBoundary(Width::Fixed(characters(least(index, most) + GAP))),
        };
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(constraint);
        }
    }
}

fn characters(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The members that fit in a cell in at least one row, in the order they appear.
pub(super) fn fitting(rows: &[&Map<String, Value>]) -> Columns {
    let mut seen = std::collections::HashSet::new();
    let members = rows.iter().flat_map(|row| row.iter());
    let fits = members.filter(|(name, value)| match value {
        Value::Null if name.as_str() == SAID_WHERE_ABSENT.0 => true,
        Value::Array(items) => !items.is_empty() && items.iter().all(is_scalar),
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        other => is_scalar(other),
    });
    let fits = fits.filter(|(name, value)| !(COUNTERS.contains(&name.as_str()) && value.as_u64() == Some(0)));
    fits.filter(|(name, _)| seen.insert(*name)).map(|(name, _)| name.clone()).collect()
}

pub(super) fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

fn find<'v>(row: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = row.get(path) {
        return Some(value);
    }
    let (head, rest) = path.split_once('.')?;
    find(row.get(head)?.as_object()?, rest)
}

/// What stands in the cell of `name`.
fn said(row: &Map<String, Value>, name: &str, look: &Look) -> String {
    match find(row, name) {
        None | Some(Value::Null) if name == SAID_WHERE_ABSENT.0 => SAID_WHERE_ABSENT.1.to_owned(),
        value => text(value, look),
    }
}

/// What stands in a cell, bounded.
fn text(value: Option<&Value>, look: &Look) -> String {
    let text = value.map_or_else(String::new, |value| short(value, look));
    let text = if look.verbose > 0 { &text } else { shortened(&text) };
    let text = match text.char_indices().nth(MAX_CELL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    match look.columns.filter(|_| look.verbose == 0) {
        Some(columns) => with_words_cut(&text, columns.max(MIN_COLUMNS)),
        None => text,
    }
}

/// `text`, with `…` for the end of every word that is longer than a line of `columns` and than any path that is worth copying:
/// it keeps half a line, for others share it. All other words stay whole.
fn with_words_cut(text: &str, columns: usize) -> String {
    let room = |word: &str| word.chars().map(cells).sum::<usize>();
    let cut = |word: &str| {
        let mut left = columns / 2 - 1;
        let fits = |c: &char| {
            let fits = cells(*c) <= left;
            left = left.saturating_sub(cells(*c));
            fits
        };
        word.chars().take_while(fits).chain(['…']).collect::<String>()
    };
    let words = text
        .split(' ')
        .map(|word| if room(word) > columns.max(MAX_WORD_COLUMNS) { cut(word) } else { word.to_owned() });
    words.collect::<Vec<_>>().join(" ")
}

/// How many columns a character takes at most: what is not ASCII may be wide.
fn cells(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

fn cell(text: String) -> Cell {
    if is_id(&text) { Cell::new(text).add_attribute(Attribute::Bold) } else { Cell::new(text) }
}

/// A value in few words, on one line.
fn short(value: &Value, look: &Look) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => match stamp(text) {
            Some(at) => relative(at, look.now),
            // A cell is one line; where its text had several, they follow each other.
            None => neutral(&text.split(['\n', '\t']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")),
        },
        Value::Array(items) if items.iter().all(is_scalar) => {
            items.iter().map(|item| short(item, look)).collect::<Vec<_>>().join(", ")
        }
        Value::Array(_) | Value::Object(_) => neutral(&value.to_string()),
    }
}
