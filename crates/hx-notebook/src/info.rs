//! The answer to `kernel_info_request`.

use serde_json::{Value, json};

use crate::message::VERSION;

const HX: &str = env!("CARGO_PKG_VERSION");

/// Returns the content of a `kernel_info_reply`.
pub(crate) fn kernel_info() -> Value {
    json!({
        "status": "ok",
        "protocol_version": VERSION,
        "implementation": "hx",
        "implementation_version": HX,
        "banner": format!("hx {HX}: `:help` shows the commands"),
        "debugger": false,
        "help_links": [],
        "supported_features": [],
        "language_info": {
            "name": "hx",
            "version": HX,
            "mimetype": "text/x-hx",
            "file_extension": ".hx",
            // Of the languages that highlighters know, Rust is nearest: comments, strings, numbers and most keywords agree.
            "codemirror_mode": "rust",
            "pygments_lexer": "rust",
        },
    })
}
