//! The client's capabilities, and the user's settings.

use hx_target::Target;
use serde::Deserialize;
use tower_lsp::ls_types::{InitializeParams, PositionEncodingKind};

/// The unit in which the protocol counts columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Encoding {
    Utf8,
    #[default]
    Utf16,
}

/// The form of drawings in hovers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Drawings {
    /// An image.
    Svg,
    /// A grid of characters.
    #[default]
    Unicode,
    None,
}

/// The kind of the editor's theme.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Theme {
    Light,
    Dark,
}

/// Capabilities of the client, from its `initialize` request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    pub(crate) encoding: Encoding,
    /// The client requests diagnostics; otherwise the server sends them.
    pub(crate) pulls: bool,
    pub(crate) related_information: bool,
    pub(crate) refresh_hints: bool,
    pub(crate) refresh_lenses: bool,
    pub(crate) refresh_tokens: bool,
    pub(crate) refresh_diagnostics: bool,
    pub(crate) watches_files: bool,
    pub(crate) snippets: bool,
    pub(crate) resolves_hints: bool,
    pub(crate) resolves_edits: bool,
    pub(crate) nested_symbols: bool,
    pub(crate) markdown: bool,
    /// The default form of drawings for a client of this name; the user's setting overrides it.
    pub(crate) drawings: Drawings,
}

/// The user's settings: from `initializationOptions`, and from `hx` in the client's configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Options {
    /// The name of an architecture, such as `sm_90a`; takes precedence over the project's target.
    pub(crate) target: Option<String>,
    pub(crate) drawings: Option<Drawings>,
    /// The kind of the editor's theme, for the background of drawings; without it the background is white.
    pub(crate) theme: Option<Theme>,
    /// The address at which the client opens the page about a code, with `{code}` in place of the code.
    pub(crate) code_pages: Option<String>,
    /// Path of the CUDA compiler library, or of its folder.
    pub(crate) nvrtc: Option<String>,
    pub(crate) inlay_hints: HintOptions,
    pub(crate) lenses: LensOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HintOptions {
    pub(crate) layouts: bool,
    pub(crate) instructions: bool,
}

impl Default for HintOptions {
    fn default() -> Self {
        HintOptions { layouts: true, instructions: true }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LensOptions {
    pub(crate) run: bool,
    pub(crate) costs: bool,
    pub(crate) code: bool,
}

impl Default for LensOptions {
    fn default() -> Self {
        LensOptions { run: true, costs: true, code: true }
    }
}

impl Options {
    /// Returns the architecture that the user chose; `None` without a choice.
    ///
    /// # Errors
    /// If the name is unknown, as text.
    pub(crate) fn target(&self) -> Result<Option<Target>, String> {
        self.target.as_deref().filter(|name| !name.is_empty()).map(str::parse).transpose()
    }

    /// Parses options from JSON: from the object itself, or from its member `hx`. `null` has the default options.
    ///
    /// # Errors
    /// If a member has another type, or the target is unknown, as text.
    pub(crate) fn parse(value: &serde_json::Value) -> Result<Options, String> {
        let value = value.get("hx").unwrap_or(value);
        if value.is_null() {
            return Ok(Options::default());
        }
        let options: Options = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        options.target()?;
        Ok(options)
    }
}

impl Client {
    pub(crate) fn of(params: &InitializeParams) -> Client {
        let capabilities = &params.capabilities;
        let general = capabilities.general.as_ref();
        let encodings = general.and_then(|g| g.position_encodings.as_deref()).unwrap_or_default();
        let text = capabilities.text_document.as_ref();
        let workspace = capabilities.workspace.as_ref();
        let name = params.client_info.as_ref().map_or("", |info| info.name.as_str());
        let hint = text.and_then(|t| t.inlay_hint.as_ref()).and_then(|h| h.resolve_support.as_ref());
        let item = text.and_then(|t| t.completion.as_ref()).and_then(|c| c.completion_item.as_ref());
        let action = text.and_then(|t| t.code_action.as_ref());
        let formats = text.and_then(|t| t.hover.as_ref()).and_then(|h| h.content_format.as_deref());
        let is_true = |flag: Option<bool>| flag == Some(true);
        Client {
            encoding: if encodings.contains(&PositionEncodingKind::UTF8) {
                Encoding::Utf8
            } else {
                Encoding::Utf16
            },
            pulls: text.is_some_and(|t| t.diagnostic.is_some()),
            related_information: text
                .and_then(|t| t.publish_diagnostics.as_ref())
                .is_none_or(|d| d.related_information != Some(false)),
            refresh_hints: is_true(workspace.and_then(|w| w.inlay_hint.as_ref()?.refresh_support)),
            refresh_lenses: is_true(workspace.and_then(|w| w.code_lens.as_ref()?.refresh_support)),
            refresh_tokens: is_true(workspace.and_then(|w| w.semantic_tokens.as_ref()?.refresh_support)),
            refresh_diagnostics: is_true(workspace.and_then(|w| w.diagnostics.as_ref()?.refresh_support)),
            watches_files: is_true(
                workspace.and_then(|w| w.did_change_watched_files.as_ref()?.dynamic_registration),
            ),
            snippets: is_true(item.and_then(|i| i.snippet_support)),
            resolves_hints: hint.is_some_and(|r| r.properties.iter().any(|p| p.contains("tooltip"))),
            resolves_edits: action
                .and_then(|a| a.resolve_support.as_ref())
                .is_some_and(|r| r.properties.iter().any(|p| p == "edit")),
            nested_symbols: is_true(
                text.and_then(|t| t.document_symbol.as_ref()?.hierarchical_document_symbol_support),
            ),
            markdown: formats
                .is_none_or(|f| f.is_empty() || f.contains(&tower_lsp::ls_types::MarkupKind::Markdown)),
            drawings: if name.contains("Code") || name.contains("VSCodium") {
                Drawings::Svg
            } else {
                Drawings::Unicode
            },
        }
    }
}
