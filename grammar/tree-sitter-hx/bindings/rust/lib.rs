//! The tree-sitter grammar of hx, for editors.
//!
//! The toolchain parses with `hx-syntax`; this grammar is for tools that want a tree from tree-sitter. The suite
//! `tree_sitter` of the project holds the two together.

// The parser is C that tree-sitter generated; naming its entry point is the only unsafe thing here.
#![allow(unsafe_code)]

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_hx() -> *const ();
}

/// The grammar.
// SAFETY: the function is the entry point of the generated parser, which has this signature.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_hx) };

/// The kinds of nodes and their fields, as JSON.
pub const NODE_TYPES: &str = include_str!("../../src/node-types.json");
