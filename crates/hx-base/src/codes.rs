//! Every code of the toolchain, in one module for each family: the head of the module has the digits, the page and the title. The
//! doc comment of a code is its page, which `hx explain` and the book show unchanged. Blocks marked `hx fails` produce the
//! finding, blocks marked `hx` have no error.

use crate::Code;

/// The codes with the same first two digits, which are declared in one file.
#[derive(Debug)]
pub struct Family {
    /// `HX` and two digits, with which every code of the family begins.
    pub prefix: &'static str,
    /// The file name of the family's page in the book, without the ending, such as `synchronization`.
    pub page: &'static str,
    pub title: &'static str,
    /// The path of the file that declares the codes, relative to the root of the repository.
    pub file: &'static str,
    /// The codes, ordered by number.
    pub codes: &'static [&'static Code],
}

/// Declares the codes of one family, after its digits, page and title. The doc comment of a code becomes its page. A code that no
/// finding has declares its [`crate::Status`] after the summary.
macro_rules! family {
    (@status) => { $crate::Status::Reported { since: "0.1" } };
    (@status $status:expr) => { $status };
    ($prefix:literal, $page:literal, $title:literal; $(
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

        pub(crate) static FAMILY: $crate::codes::Family = $crate::codes::Family {
            prefix: $prefix,
            page: $page,
            title: $title,
            file: file!(),
            codes: &[$(&$name),+],
        };
    };
}

mod host;
mod layouts;
mod names;
mod performance;
mod sync;
mod syntax;
mod targets;
mod types;

pub use host::*;
pub use layouts::*;
pub use names::*;
pub use performance::*;
pub use sync::*;
pub use syntax::*;
pub use targets::*;
pub use types::*;

/// Every family, ordered by its digits.
pub static FAMILIES: &[&Family] = &[
    &syntax::FAMILY,
    &names::FAMILY,
    &types::FAMILY,
    &layouts::FAMILY,
    &sync::FAMILY,
    &targets::FAMILY,
    &host::FAMILY,
    &performance::FAMILY,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::FAMILIES;
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
    fn codes_begin_with_the_digits_of_their_family() {
        for family in FAMILIES {
            for code in family.codes {
                assert!(code.id.starts_with(family.prefix), "{} is declared in {}", code.id, family.file);
            }
        }
        let prefixes: BTreeSet<&str> = FAMILIES.iter().map(|family| family.prefix).collect();
        assert_eq!(prefixes.len(), FAMILIES.len());
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
        assert_eq!(code("0101").map(|code| code.name), Some("unknown-name"));
        assert_eq!(code("101").map(|code| code.name), None);
        assert_eq!(code("unknown-name").map(|code| code.id), Some("HX0101"));
        assert_eq!(nearest_code("unknwon-name").map(|code| code.id), Some("HX0101"));
        assert_eq!(nearest_code("x").map(|code| code.id), None);
    }
}
