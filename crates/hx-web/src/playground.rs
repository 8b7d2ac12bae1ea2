//! The state of a page, and the answers to its requests.

use std::sync::Arc;

use hx_base::SourceFile;
use hx_ide::{
    ActionConfig, Cancelled, DrawingStyle, Emit, LastGood, Lens, LensAction, Shown, TextRange, TextSize,
    Wanted,
};
use hx_layout::draw::{Ground, SvgStyle};
use hx_target::Target;
use hx_workspace::Database;
use serde_json::{Value, json};

use crate::answers::{self, Places};
use crate::no_disk::NoDisk;
use crate::request::{Request, Theme};
use crate::runs;

/// The path of the text, as names of tests and messages show it.
const PATH: &str = "playground.hx";

/// The width of a drawing in a hover, in pixels.
const HOVER_WIDTH: usize = 470;

/// The compiler for the one text of a page.
#[derive(Debug)]
pub struct Playground {
    db: Database,
    file: SourceFile,
    shown: Shown,
    /// The hints of kernels that now have errors, from their last text without errors.
    kept: LastGood,
}

impl Default for Playground {
    fn default() -> Self {
        let mut db = Database::new(Arc::new(NoDisk));
        let file = db.set_overlay(PATH, "");
        Playground { db, file, shown: Shown::new(Target::usual()), kept: LastGood::default() }
    }
}

/// The reason why a request has no answer, in words.
type Refusal = String;

impl Playground {
    /// Makes a page with an empty text.
    pub fn new() -> Playground {
        Playground::default()
    }

    /// Answers a request in JSON with JSON: `{"ok": …}`, or `{"error": "…"}` with the reason why there is no answer.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = serde_json::from_str::<Request>(request)
            .map_err(|error| format!("the request cannot be read: {error}"))
            .and_then(|request| self.ask(&request));
        match answer {
            Ok(value) => json!({ "ok": value }).to_string(),
            Err(reason) => json!({ "error": reason }).to_string(),
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub fn ask(&mut self, request: &Request) -> Result<Value, Refusal> {
        match request {
            Request::Edit { text } => {
                self.db.set_overlay(PATH, text);
                Ok(Value::Null)
            }
            Request::Target { name } => {
                self.shown.target = name.parse()?;
                Ok(Value::Null)
            }
            Request::Tests => Ok(runs::tests(&self.db, &self.places())),
            Request::Test { name } => runs::test(&self.db, &self.places(), self.shown.target, name),
            Request::Run => Ok(runs::main(&self.db, &self.places(), self.shown.target)),
            Request::Explain { code } => {
                let code = hx_base::code(code).ok_or_else(|| format!("there is no code `{code}`"))?;
                Ok(json!({ "code": code.id, "name": code.name, "text": code.explanation() }))
            }
            // Only a change of the text cancels a query, and this thread is the only one.
            request => self.read(request).unwrap_or_else(|_| Err("cancelled".to_owned())),
        }
    }

    fn places(&self) -> Places<'_> {
        Places::new(&self.db, self.file)
    }

    /// Answers a question of an editor.
    fn read(&self, request: &Request) -> Result<Result<Value, Refusal>, Cancelled> {
        let (db, file, places) = (&self.db, self.file, self.places());
        let found = match request {
            Request::Tokens => {
                let found = hx_ide::semantic_tokens(db, file, places.whole())?;
                found.iter().map(|token| places.token(token)).collect()
            }
            Request::Diagnostics => {
                let found = hx_ide::diagnostics(db, file, &self.shown)?;
                found.iter().map(|found| places.diagnostic(found)).collect()
            }
            Request::Hints => self.hints(&places)?,
            Request::Hover { at, theme } => {
                let (at, style) = (places.byte(*at), DrawingStyle::Svg(svg_style(*theme)));
                let found = hx_ide::hover(db, file, at, &self.shown, style, &|_| None, &self.kept)?;
                json!(found.map(|hover| json!({ "at": places.span(hover.range), "text": hover.text })))
            }
            Request::Complete { at } => {
                let found = hx_ide::completions(db, file, places.byte(*at))?;
                found.iter().map(|entry| places.completion(entry)).collect()
            }
            Request::Docs { path, name } => json!(hx_ide::completion_docs(db, path, name)?),
            Request::Signature { at } => {
                json!(hx_ide::signature_help(db, file, places.byte(*at))?.as_ref().map(answers::signature))
            }
            Request::Definition { at } => {
                let found = hx_ide::definition(db, file, places.byte(*at))?;
                json!(found.map(|(_, to)| places.location_with_text(to)).transpose()?)
            }
            Request::Actions { from, to } => {
                let range = ordered(places.byte(*from), places.byte(*to));
                let found = hx_ide::actions(db, file, range, &self.shown, ActionConfig::ALL)?;
                let whole = found.iter().filter(|action| places.is_own(&action.edits));
                whole.map(|action| places.change(&action.title, &action.edits)).collect()
            }
            Request::Format => {
                let Ok(changes) = hx_ide::format(db, file, None)? else {
                    return Ok(Err("a text with errors of syntax is not formatted".to_owned()));
                };
                changes.iter().map(|change| places.edit(change.range, &change.text)).collect()
            }
            Request::Layout { at } => {
                let at = places.byte(*at);
                let layouts = hx_ide::layouts(db, file, at, &self.shown)?;
                let reasons = hx_ide::explain_layout(db, file, at, &self.shown)?;
                json!({
                    "layout": layouts.map(|found| places.layouts(&found)),
                    "reasons": reasons.map(|steps| places.reasons(&steps)),
                })
            }
            Request::Emit { at, stage } => return self.emit(places.byte(*at), stage),
            // `ask` has answered these.
            Request::Edit { .. }
            | Request::Target { .. }
            | Request::Tests
            | Request::Test { .. }
            | Request::Run
            | Request::Explain { .. } => Value::Null,
        };
        Ok(Ok(found))
    }

    fn hints(&self, places: &Places<'_>) -> Result<Value, Cancelled> {
        let (db, file) = (&self.db, self.file);
        let hints = hx_ide::inlay_hints(db, file, places.whole(), &self.shown, &self.kept)?;
        let lenses = hx_ide::lenses(db, file, &self.shown, true, &|_| None, &self.kept)?;
        // A page can show no PTX or machine code, which need the CUDA compiler, and run no benches, which need a GPU.
        let is_here = |lens: &&Lens| match &lens.action {
            LensAction::Show { stage, .. } => *stage == "cuda",
            LensAction::Test { .. } | LensAction::Run | LensAction::Costs(_) => true,
            LensAction::Bench { .. } | LensAction::ShowDefault { .. } | LensAction::ShowInstance { .. } => {
                false
            }
        };
        Ok(json!({
            "hints": hints.iter().map(|hint| places.hint(hint)).collect::<Value>(),
            "lenses": lenses.iter().filter(is_here).map(|lens| places.lens(lens)).collect::<Value>(),
        }))
    }

    fn emit(&self, at: TextSize, stage: &str) -> Result<Result<Value, Refusal>, Cancelled> {
        let Some(known) = Emit::ALL.into_iter().find(|known| known.name() == stage) else {
            let names: Vec<&str> = Emit::ALL.iter().map(|known| known.name()).collect();
            return Ok(Err(format!("there is no stage `{stage}`; known are {}", names.join(", "))));
        };
        let wanted = Wanted { at: Some(at), ..Wanted::default() };
        let emitted = hx_ide::emit(&self.db, self.file, &wanted, known, &self.shown)?;
        Ok(emitted.map(|emitted| {
            json!({ "kernel": emitted.kernel, "stage": stage, "text": emitted.text, "lines": emitted.lines })
        }))
    }
}

fn ordered(a: TextSize, b: TextSize) -> TextRange {
    TextRange::new(a.min(b), a.max(b))
}

fn svg_style(theme: Theme) -> SvgStyle {
    let ground = match theme {
        Theme::Light => Ground::Light,
        Theme::Dark => Ground::Dark,
    };
    SvgStyle { ground, width: Some(HOVER_WIDTH) }
}
