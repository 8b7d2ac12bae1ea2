//! The kernel and its language, for clients.

use serde_json::{Value, json};

use crate::message::VERSION;

const HX: &str = env!("CARGO_PKG_VERSION");

/// Describes the kernel and its language.
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
            // The nearest language that highlighters know: comments, strings, numbers and most keywords agree.
            "codemirror_mode": "rust",
            "pygments_lexer": "rust",
        },
    })
}
