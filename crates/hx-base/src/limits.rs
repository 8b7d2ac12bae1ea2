//! Parses the limits of time and memory that a user sets by a flag, in `hx.toml` or at the prompt.

/// The longest time limit, in seconds: more than thirty years, yet every clock can add it to the current time.
const MOST_SECONDS: f64 = 1e9;
/// The largest memory limit, in bytes: 1 EiB.
const MOST_BYTES: f64 = (1u64 << 60) as f64;
const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Parses a time limit in seconds: above 0 and at most 1e9.
///
/// # Errors
/// If the text is no such number. The error says what was expected.
pub fn seconds(text: &str) -> Result<f64, String> {
    let parsed = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0 && *seconds <= MOST_SECONDS);
    parsed.ok_or_else(|| "expected a positive number of seconds, at most 1e9".to_owned())
}

/// Parses a memory limit, a number with a unit such as `512MiB` or `1.5GiB`. Returns bytes: at least 1 and at most 2⁶⁰.
///
/// # Errors
/// If the text is no such size. The error says what was expected.
pub fn bytes(text: &str) -> Result<u64, String> {
    let unit = UNITS.iter().find_map(|(name, factor)| Some((text.strip_suffix(name)?, *factor)));
    let bytes =
        unit.and_then(|(number, factor)| Some(number.trim_end().parse::<f64>().ok()? * factor as f64));
    let bytes = bytes.filter(|bytes| *bytes >= 1.0 && *bytes <= MOST_BYTES);
    bytes.map(|bytes| bytes as u64).ok_or_else(|| "expected a size as in `512MiB` or `4GiB`".to_owned())
}

/// Formats a number of bytes in the largest unit that leaves at least 1, with one decimal if it is not whole: `12 B`, `4 GiB`,
/// `1.5 GiB`.
pub fn byte_text(bytes: u64) -> String {
    let Some((unit, factor)) = UNITS.iter().rev().find(|(_, factor)| bytes >= *factor) else {
        return format!("{bytes} B");
    };
    if bytes.is_multiple_of(*factor) {
        return format!("{} {unit}", bytes / factor);
    }
    format!("{:.1} {unit}", bytes as f64 / *factor as f64)
}

#[cfg(test)]
mod tests {
    use super::{byte_text, bytes, seconds};

    #[test]
    fn numbers_that_are_no_limits_are_refused() {
        for text in ["2e19", "1e300", "nan", "inf", "-1", "0", "", "x", "1e9999"] {
            assert!(seconds(text).is_err(), "{text}");
            assert!(bytes(&format!("{text}GiB")).is_err(), "{text}");
        }
        for text in ["4", "4GB", "GiB", "4 giB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("4GiB"), Ok(4 << 30));
        assert_eq!(bytes("1.5 KiB"), Ok(1536));
        assert_eq!(byte_text(4 << 30), "4 GiB");
        assert_eq!(byte_text(1536), "1.5 KiB");
        assert_eq!(byte_text(12), "12 B");
    }
}
