//! The standard library, part of the binary.

include!(concat!(env!("OUT_DIR"), "/std_files.rs"));
