//! Numbers of bytes, as people write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes: a number, or a text such as `64KiB`, `8MiB`. From 1 KiB to 1 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

impl Size {
    pub const MIN_BYTES: u64 = 1 << 10;
    pub const MAX_BYTES: u64 = 1 << 30;

    pub const fn mebibytes(count: u64) -> Self {
        Self(if count > 1024 { Self::MAX_BYTES } else { count << 20 })
    }

    pub const fn bytes(self) -> u64 {
        self.0
    }

    fn checked(bytes: u64) -> Result<Self, String> {
        if (Self::MIN_BYTES..=Self::MAX_BYTES).contains(&bytes) {
            Ok(Self(bytes))
        } else {
            Err(format!("a size is from 1KiB to 1GiB, not {bytes} bytes"))
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
        let unit = units.iter().find_map(|(name, bytes)| Some((text.strip_suffix(name)?, *bytes)));
        let (number, bytes): (&str, u64) = unit.unwrap_or((text, 1));
        let wrong = || format!("`{text}` is not a size: write a number of bytes, `64KiB` or `8MiB`");
        let number: u64 = number.parse().map_err(|_| wrong())?;
        Self::checked(number.checked_mul(bytes).ok_or_else(wrong)?)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes % (1 << 20) == 0 => write!(f, "{}MiB", bytes >> 20),
            bytes if bytes % (1 << 10) == 0 => write!(f, "{}KiB", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl de::Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of bytes, or a text such as `64KiB`, `8MiB`")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
        Size::checked(bytes).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
        Size::checked(u64::try_from(bytes).unwrap_or(0)).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_people_write_them_and_read_back() {
        for (text, bytes) in [("1024", 1024), ("64KiB", 65_536), ("8MiB", 8 << 20), ("1GiB", 1 << 30)] {
            assert_eq!(text.parse::<Size>().map(Size::bytes), Ok(bytes));
        }
        for bytes in [1024, 1025, 65_536, 1 << 30] {
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }
        for wrong in ["", "1", "1023", "2GiB", "8MB", "-1", "KiB", "99999999999999999GiB", "é"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
