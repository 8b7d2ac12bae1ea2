//! `hx layout`: the layout algebra on the command line, and the reasons of a kernel's layouts.

mod judge;
mod why;

use hx_base::{Diagnostic, TextRange, TextSize, codes};
use hx_layout::draw::Drawing;
use hx_layout::expr::{ExprError, Value};
use hx_layout::{eval_expr, prove::prove};
use hx_workspace::Database;

use crate::Exit;
use crate::cli::{LayoutArgs, LayoutVerb, ShowArgs};
use crate::commands::files::write;
use crate::output::Output;

/// The name of an expression's text in messages.
const EXPRESSION: &str = "expression";

pub(crate) fn run(args: &LayoutArgs, output: &Output) -> Exit {
    let done = match &args.verb {
        LayoutVerb::Eval(args) => eval(&args.expression, output),
        LayoutVerb::Show(args) => show(args, output),
        LayoutVerb::Prove(args) => proved(&args.equation, args.isl, output),
        LayoutVerb::Check(args) => judge::run(args, output),
        LayoutVerb::Why(args) => why::run(args, output),
    };
    done.unwrap_or_else(|exit| exit)
}

fn eval(text: &str, output: &Output) -> Result<Exit, Exit> {
    let value = eval_expr(text).map_err(|error| no_value(text, &error, output))?;
    output.result(&format!("{value}\n"));
    Ok(Exit::Good)
}

fn proved(text: &str, isl: bool, output: &Output) -> Result<Exit, Exit> {
    let proof = prove(text).map_err(|error| no_value(text, &error, output))?;
    output.result(&format!("{proof}\n"));
    match &proof.relations {
        Some([left, right]) if isl => output.result(&format!("left:  {left}\nright: {right}\n")),
        None if isl => output.remark("note: there are no relations: isl multiplies no names"),
        _ => {}
    }
    Ok(if proof.holds() { Exit::Good } else { Exit::Bad })
}

fn show(args: &ShowArgs, output: &Output) -> Result<Exit, Exit> {
    let text = args.expression.as_str();
    let value = eval_expr(text).map_err(|error| no_value(text, &error, output))?;
    let drawing = drawing(&value, args).map_err(|error| no_value(text, &error, output))?;
    match &args.svg {
        None => output.result(&drawing.unicode()),
        Some(path) if path.as_os_str() == "-" => output.result(&drawing.svg()),
        Some(path) => {
            write(path, &drawing.svg(), output)?;
            output.remark(&format!("wrote {}", path.display()));
        }
    }
    Ok(Exit::Good)
}

fn drawing(value: &Value, args: &ShowArgs) -> Result<Drawing, ExprError> {
    let fail = |error: hx_layout::LayoutError| ExprError::whole(error.to_string());
    let function = value.function()?;
    let mut drawing = match (args.tile, args.banks) {
        (Some(_), _) if !function.swizzle.is_identity() || function.offset != 0 => {
            return Err(ExprError::whole("a thread-value layout has neither a swizzle nor an offset"));
        }
        (Some(tile), _) => Drawing::thread_value(&function.layout, tile).map_err(fail)?,
        (None, Some(bits)) => Drawing::banks(&function, bits).map_err(fail)?,
        (None, None) => Drawing::memory(&function).map_err(fail)?,
    };
    // The drawing's title has no labels, because the function does not know them: put the labelled value in its place.
    if let Value::Layout(labeled) = value {
        drawing.title = drawing.title.replacen(&labeled.layout.to_string(), &labeled.to_string(), 1);
    }
    Ok(drawing)
}

/// Reports why an expression has no value, with the place.
fn no_value(text: &str, error: &ExprError, output: &Output) -> Exit {
    let mut db = Database::default();
    let file = db.set_overlay(EXPRESSION, text);
    let bytes = error.range.clone().unwrap_or(0..text.len());
    let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
    let range = TextRange::new(offset(bytes.start), offset(bytes.end));
    let found = Diagnostic::new(&codes::LAYOUT_ALGEBRA, file, range, error.message.clone());
    output.diagnostics(&db, &[found]);
    Exit::Bad
}
