//! Every code of the toolchain, one module a family. The doc comment of a code is its page: `hx explain` and the book
//! show it as it stands here. Blocks marked `hx fails` have the finding, blocks marked `hx` have no error.

use crate::Code;

/// Declares the codes of one family. A code's doc comment is kept as its explanation. Behind the summary stands the
/// status of a code that no finding has.
macro_rules! family {
    (@status) => { $crate::Status::Reported { since: "0.1" } };
    (@status $status:expr) => { $status };
    ($(
        $(#[doc = $doc:literal])+
        $name:ident = $id:literal, $kebab:literal, $severity:ident, $summary:literal $(, $status:expr)?;
    )+) => {
        $(
            $(#[doc = $doc])+
            pub static $name: $crate::Code = $crate::Code {
                id: $id,
                name: $kebab,
                severity: $crate::Severity::$severity,
                summary: $summary,
                status: family!(@status $($status)?),
                doc: concat!($($doc, "\n"),+),
            };
        )+

        /// The codes of this family, ordered by number.
        pub(crate) static ALL: &[&$crate::Code] = &[$(&$name),+];
    };
}

mod host;
mod layouts;
mod names;
mod sync;
mod syntax;
mod targets;
mod types;

pub use host::*;
pub use layouts::*;
pub use names::*;
pub use sync::*;
pub use syntax::*;
pub use targets::*;
pub use types::*;

pub(crate) static FAMILIES: &[&[&Code]] =
    &[syntax::ALL, names::ALL, types::ALL, layouts::ALL, sync::ALL, targets::ALL, host::ALL];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{all_codes, code, nearest_code};

    #[test]
    fn numbers_and_names_are_unique_and_ordered() {
        let ids: Vec<&str> = all_codes().map(|code| code.id).collect();
        assert!(ids.is_sorted(), "{ids:?}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        let names: BTreeSet<&str> = all_codes().map(|code| code.name).collect();
        assert_eq!(names.len(), ids.len());
        for code in all_codes() {
            assert!(code.id.len() == 6 && code.id.starts_with("HX0"), "{}", code.id);
            assert!(!code.summary.ends_with('.'), "{}", code.id);
            assert!(code.explanation().len() > 60, "{} explains too little", code.id);
        }
    }

    #[test]
    fn the_codes_of_the_parser_are_all_here() {
        for &(id, name, summary) in hx_syntax::codes::ALL {
            let found = code(id).map(|code| (code.id, code.name, code.summary));
            assert_eq!(found, Some((id, name, summary)));
        }
    }

    #[test]
    fn examples_parse_unless_they_are_about_syntax() {
        let mut wrong = Vec::new();
        for code in all_codes() {
            for (fails, text) in code.examples() {
                let parse = hx_syntax::parse(&text);
                let found: Vec<&str> = parse.errors().iter().map(|error| error.code).collect();
                let good = if fails && code.id.starts_with("HX00") {
                    found.contains(&code.id)
                } else {
                    found.is_empty()
                };
                if !good {
                    wrong.push(format!("{} (fails: {fails}): {:?}\n{text}", code.id, parse.errors()));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn codes_are_found_by_number_and_name_and_nearly() {
        assert_eq!(code("hx0101").map(|code| code.name), Some("unknown-name"));
        assert_eq!(code("unknown-name").map(|code| code.id), Some("HX0101"));
        assert_eq!(nearest_code("unknwon-name").map(|code| code.id), Some("HX0101"));
        assert_eq!(nearest_code("x").map(|code| code.id), None);
    }
}
