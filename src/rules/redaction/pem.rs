//! Private key blocks, which are the only secrets that span lines.

/// A block longer than this is no key. The bound keeps a lone header from hiding what follows it.
const MAX_BODY_BYTES: usize = 64 * 1024;
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// The longest label is `ENCRYPTED PRIVATE KEY`; leave room for what nobody has thought of yet.
const MAX_LABEL_BYTES: usize = 64;

/// An open block.
#[derive(Debug, Default)]
pub struct Block {
    taken: usize,
}

/// What a line is to an open block.
pub enum Line {
    /// The whole line belongs to it.
    Body,
    /// The block ends within the line, at this offset.
    Last(usize),
    /// The line does not belong to it: the block was never closed.
    Stray,
}

/// Where the header at `at` ends, if it opens a private key.
pub fn opens_at(line: &str, at: usize) -> Option<usize> {
    let label = line[at..].strip_prefix(BEGIN)?;
    let bytes = label.as_bytes();
    let length = bytes.iter().take(MAX_LABEL_BYTES).position(|byte| *byte == b'-')?;
    let is_private = label[..length].contains("PRIVATE KEY");
    (is_private && label[length..].starts_with(DASHES)).then_some(at + BEGIN.len() + length + DASHES.len())
}

/// The end of the closing line in `text`, as an offset.
pub fn closes(text: &str) -> Option<usize> {
    let end = text.find(END)?;
    let label_at = end + END.len();
    let dashes = text[label_at..].find(DASHES);
    Some(dashes.map_or(text.len(), |offset| label_at + offset + DASHES.len()))
}

impl Block {
    pub fn take(&mut self, line: &str) -> Line {
        if let Some(end) = closes(line) {
            return Line::Last(end);
        }
        self.taken += line.len();
        if self.taken <= MAX_BODY_BYTES && is_body(line) { Line::Body } else { Line::Stray }
    }
}

/// Base64, perhaps behind a log's prefix or quotation, an old header such as `Proc-Type: 4,ENCRYPTED`, or nothing.
fn is_body(line: &str) -> bool {
    const MIN_PREFIXED: usize = 40;
    let line = line.trim().trim_end_matches(['"', '\'', ',', '+', '\\']);
    let is_base64 = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    let header = line.split_once(": ").map(|(name, _)| name);
    let is_header =
        header.is_some_and(|name| matches!(name, "Proc-Type" | "DEK-Info" | "Version" | "Comment" | "Hash"));
    let last = line.rsplit([' ', '\t', '"', '\'', '|']).next().unwrap_or(line);
    is_base64(line) || is_header || (last.len() >= MIN_PREFIXED && is_base64(last))
}
