//! The standard library, embedded in the binary.

include!(concat!(env!("OUT_DIR"), "/std_files.rs"));
