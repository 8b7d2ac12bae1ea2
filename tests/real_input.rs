//! real_input
