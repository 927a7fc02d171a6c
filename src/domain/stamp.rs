//! Points in time and lengths of time, as the ledger stores them and as people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z. On the wire it is RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub i64);

impl Stamp {
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    pub const fn ms(self) -> i64 {
        self.0
    }

    /// The point `length` later; the last representable one if that overflows.
    pub fn plus(self, length: Length) -> Self {
        Self(self.0.saturating_add(length.ms()))
    }

    /// Whole seconds from `self` until `later`; 0 if `later` is earlier (a clock that was set back).
    pub fn seconds_until(self, later: Stamp) -> i64 {
        (later.0.saturating_sub(self.0) / 1000).max(0)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl FromStr for Stamp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(ms) = text.strip_suffix(" ms").and_then(|ms| ms.parse().ok()) {
            return Ok(Self(ms));
        }
        let at: jiff::Timestamp = text.parse().map_err(|_| format!("`{text}` is not an RFC 3339 time"))?;
        Ok(Self(at.as_millisecond()))
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Stamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Stamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// A length of time: a number of seconds, or a text such as `90s`, `10m`, `2h`, `30d`. From 1 s to 10 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(u64);

impl Length {
    pub const MAX_S: u64 = 10 * 366 * 86_400;

    pub const fn seconds(seconds: u64) -> Self {
        Self(if seconds > Self::MAX_S { Self::MAX_S } else { seconds })
    }

    pub const fn minutes(minutes: u64) -> Self {
        Self::seconds(minutes * 60)
    }

    pub const fn hours(hours: u64) -> Self {
        Self::seconds(hours * 3600)
    }

    pub const fn as_seconds(self) -> u64 {
        self.0
    }

    pub fn ms(self) -> i64 {
        i64::try_from(self.0 * 1000).expect("at most ten years")
    }

    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }

    fn checked(seconds: u64) -> Result<Self, String> {
        if (1..=Self::MAX_S).contains(&seconds) {
            Ok(Self(seconds))
        } else {
            Err(format!("a length of time is from 1 second to 10 years, not {seconds} s"))
        }
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse::<u64>() {
            return Self::checked(seconds);
        }
        let wrong = || format!("`{text}` is not a length of time: write `90s`, `10m`, `2h` or `30d`");
        let (number, unit_s) = match text.as_bytes().last() {
            Some(b's') => (&text[..text.len() - 1], 1),
            Some(b'm') => (&text[..text.len() - 1], 60),
            Some(b'h') => (&text[..text.len() - 1], 3600),
            Some(b'd') => (&text[..text.len() - 1], 86_400),
            _ => return Err(wrong()),
        };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        Self::checked(number.checked_mul(unit_s).ok_or_else(wrong)?)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0;
        match seconds {
            0 => f.write_str("0s"),
            _ if seconds.is_multiple_of(86_400) => write!(f, "{}d", seconds / 86_400),
            _ if seconds.is_multiple_of(3600) => write!(f, "{}h", seconds / 3600),
            _ if seconds.is_multiple_of(60) => write!(f, "{}m", seconds / 60),
            _ => write!(f, "{seconds}s"),
        }
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LengthVisitor)
    }
}

struct LengthVisitor;

impl de::Visitor<'_> for LengthVisitor {
    type Value = Length;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds, or a text such as `90s`, `10m`, `2h` or `30d`")
    }

    fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Length, E> {
        Length::checked(seconds).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Length, E> {
        Length::checked(u64::try_from(seconds).unwrap_or(0)).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Length, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for Length {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "pattern": "^[0-9]+[smhd]?$",
            "minimum": 1,
            "description": "seconds, or a text such as `90s`, `10m`, `2h`, `30d`; from 1 s to 10 years"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_reads_back_what_it_writes() {
        for ms in [0, 1, 1_795_000_000_123, -1, i64::MAX] {
            assert_eq!(Stamp(ms).to_string().parse(), Ok(Stamp(ms)), "{ms}");
        }
    }

    #[test]
    fn lengths_are_written_as_people_write_them() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200), ("30d", 2_592_000)] {
            assert_eq!(text.parse::<Length>().map(Length::as_seconds), Ok(seconds));
        }
        for wrong in ["", "0", "-1", "h", "1w", "10 m", "é", "99999999999999999999", "99999999999d"] {
            assert!(wrong.parse::<Length>().is_err(), "{wrong}");
        }
    }
}
