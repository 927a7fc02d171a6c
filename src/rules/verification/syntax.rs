//! Whether a file is what its criterion says: JSON, TOML, YAML.

/// What a file is parsed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    Toml,
    Yaml,
}

/// What the end of a file's name says it is.
const BY_EXTENSION: [(&str, Format); 7] = [
    ("json", Format::Json),
    ("jsonc", Format::Jsonc),
    ("code-workspace", Format::Jsonc),
    ("webmanifest", Format::Json),
    ("toml", Format::Toml),
    ("yaml", Format::Yaml),
    ("yml", Format::Yaml),
];

/// Files that are JSON with comments by custom, whatever their ending.
const COMMENTED: [&str; 3] = ["tsconfig.json", "jsconfig.json", ".eslintrc.json"];

impl Format {
    /// What a file of this name is; none for one that kctl has no parser for.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if COMMENTED.contains(&name) {
            return Some(Format::Jsonc);
        }
        let (_, extension) = name.rsplit_once('.')?;
        BY_EXTENSION.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known)).map(|(_, format)| *format)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Format::Json => "JSON",
            Format::Jsonc => "JSON with comments",
            Format::Toml => "TOML",
            Format::Yaml => "YAML",
        }
    }

    /// The endings there are parsers for.
    pub fn known() -> String {
        BY_EXTENSION.iter().map(|(extension, _)| format!(".{extension}")).collect::<Vec<_>>().join(", ")
    }
}

/// Parses `bytes` whole.
///
/// # Errors
/// In words, with the place.
pub fn parse(format: Format, bytes: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|why| format!("it is not UTF-8 after byte {}", why.valid_up_to()))?;
    match format {
        Format::Json => {
            let json = text.strip_prefix('\u{feff}').unwrap_or(text);
            serde_json::from_str::<serde::de::IgnoredAny>(json).map(drop).map_err(|why| why.to_string())
        }
        Format::Jsonc => match jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default()) {
            Ok(parsed) if parsed.value.is_some() => Ok(()),
            Ok(_) => Err("it is empty".to_owned()),
            Err(why) => Err(why.to_string()),
        },
        Format::Toml => toml::from_str::<toml::Table>(text).map(drop).map_err(|why| why.message().to_owned()),
        Format::Yaml => yaml(text),
    }
}

/// Events only: aliases are not followed, so that a small file cannot become a large one.
fn yaml(text: &str) -> Result<(), String> {
    let mut documents = 0;
    for event in saphyr_parser::Parser::new_from_str(text) {
        let (event, _) = event.map_err(|why| why.to_string())?;
        documents += usize::from(matches!(event, saphyr_parser::Event::DocumentStart(_)));
    }
    if documents == 0 { Err("it has no document".to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_passes_and_what_is_broken_says_where() {
        for (format, good, bad) in [
            (Format::Json, "{\"a\": [1, 2]}", "{\"a\": [1, 2,]}"),
            (Format::Json, "null", ""),
            (Format::Jsonc, "{ // why\n \"a\": [1, 2,], }", "{\"a\": [1, 2}"),
            (Format::Jsonc, "[]", "  // nothing\n"),
            (Format::Toml, "[a]\nb = 1\n", "[a\nb = 1\n"),
            (Format::Toml, "", "a = 1\na = 2\n"),
            (Format::Yaml, "a: 1\nb:\n  - x\n", "a: 1\n b: [x\n"),
            (Format::Yaml, "--- x\n--- y\n", ""),
        ] {
            assert_eq!(parse(format, good.as_bytes()), Ok(()), "{}: {good}", format.name());
            assert!(parse(format, bad.as_bytes()).is_err_and(|why| !why.is_empty()), "{}: {bad}", format.name());
            assert!(parse(format, b"\xff").is_err());
        }
    }

    #[test]
    fn a_name_says_what_a_file_is() {
        assert_eq!(Format::of_path("a/tsconfig.json"), Some(Format::Jsonc));
        assert_eq!(Format::of_path("a/X.JSON"), Some(Format::Json));
        assert_eq!(Format::of_path("json"), None);
        assert_eq!(Format::of_path("a.bin"), None);
    }

    #[test]
    fn aliases_do_not_grow() {
        let mut text = "a0: &a0 [x, x]\n".to_owned();
        for n in 1..40 {
            text.push_str(&format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1));
        }
        assert_eq!(parse(Format::Yaml, text.as_bytes()), Ok(()));
    }
}
