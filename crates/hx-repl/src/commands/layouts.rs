//! `:layout`, `:why` and `:emit`.

use hx_base::Diagnostic;
use hx_hir::{Item, ItemKey};
use hx_host::Value;
use hx_inspect::{EmitError, EmitKind, Overrides, Setup, Solved};
use hx_layout::draw::Drawing;
use hx_layout::{ComposedLayout, Layout};
use hx_tile::{TensorId, layout_text, reason_text};
use hx_workspace::Database;

use super::kernels::{Meant, Request};
use crate::draw;
use crate::screen::Screen;
use crate::session::{Outcome, Session, outcome_of};
use crate::style::{Picture, Style};

/// The answer of a command about layouts: texts, each with its drawing if it has one, or the reason why there is none.
type Answer = Result<Vec<Picture>, EmitError>;

pub(super) fn layout(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    let (name, all) = match text.strip_suffix(" all") {
        Some(name) => (name.trim(), true),
        None => (text, false),
    };
    let style = if all { Style { size: None, ..screen.style() } } else { screen.style() };
    let request = match Request::new(name) {
        Ok(request) if !request.words.is_empty() => request,
        Ok(_) => return usage(screen, "`:layout` draws a layout value or a tensor of a kernel: name one"),
        Err(text) => return usage(screen, &text),
    };
    let is_value = session.environment.values.keys().any(|known| known == name);
    let meant = if is_value { Vec::new() } else { session.meant(&request.words.join(" ")) };
    if meant.is_empty() {
        return drawn_value(session, name, style, screen);
    }
    let answer = move |solved: &Solved<'_>, tensors: &[TensorId], whole: bool| {
        if whole {
            return vec![plain(listing(solved, tensors))];
        }
        tensors.iter().map(|&id| drawing(solved, id, style)).collect()
    };
    of_tensor(session, meant, request.overrides, screen, answer)
}

pub(super) fn why(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    let request = match Request::new(text) {
        Ok(request) if !request.words.is_empty() => request,
        Ok(_) => {
            return usage(screen, "`:why` tells of a tensor of a kernel: name one, as in `:why matmul.rc`");
        }
        Err(text) => return usage(screen, &text),
    };
    let name = request.words.join(" ");
    let meant = session.meant(&name);
    if meant.is_empty() {
        return usage(screen, &nothing_called(session, &name));
    }
    of_tensor(session, meant, request.overrides, screen, |solved, tensors, whole| {
        vec![plain(if whole { solved.why_all(0) } else { solved.why(tensors, None) })]
    })
}

pub(super) fn emit(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    let request = match Request::new(text) {
        Ok(request) => request,
        Err(text) => return usage(screen, &text),
    };
    let (stage, name) = match request.words.as_slice() {
        [stage] => (stage, None),
        [stage, name] => (stage, Some(name.as_str())),
        _ => {
            return usage(
                screen,
                &format!("`:emit` takes a stage ({}) and a kernel", EmitKind::NAMES.join(", ")),
            );
        }
    };
    let Some(kind) = EmitKind::parse(stage) else {
        let hint = hx_base::nearest(stage, EmitKind::NAMES)
            .map_or_else(|| EmitKind::NAMES.join(", "), |near| format!("perhaps `{near}` is meant"));
        return usage(screen, &format!("there is no stage `{stage}`; {hint}"));
    };
    let kernel = match name {
        Some(name) => session.kernel(name),
        None => session.kernels().into_iter().next(),
    };
    let Some(kernel) = kernel else {
        return usage(
            screen,
            &name.map_or("there is no kernel yet".to_owned(), |n| nothing_called(session, n)),
        );
    };
    let (setup, overrides) = (session.setup(), request.overrides);
    let shown = move |db: &Database| -> Result<(String, Vec<Diagnostic>), EmitError> {
        let emitted = hx_inspect::emit(db, kernel.file, Some(&kernel.name), &overrides, kind, &setup)?;
        // If a file has several kernels of one name, every command takes the first.
        Ok(emitted.into_iter().next().map(|e| (e.text, e.found)).unwrap_or_default())
    };
    let deadline = session.deadline();
    match session.work(screen, deadline, move |db, _| shown(db)) {
        Ok(Ok((text, found))) if !found.is_empty() => {
            screen.result(&text);
            show_answer(session, Ok(Err(EmitError::Found(found))), screen)
        }
        answer => {
            show_answer(session, answer.map(|answer| answer.map(|(text, _)| vec![plain(text)])), screen)
        }
    }
}

/// Draws the layout that is the value of an expression.
fn drawn_value(session: &mut Session, text: &str, style: Style, screen: &mut Screen<'_>) -> Outcome {
    let value = match session.value_of(text, screen) {
        Ok(value) => value,
        Err(outcome) => return outcome,
    };
    let Value::Layout(layout) = &value else {
        return usage(screen, &format!("`:layout` draws layouts, and `{text}` is {}", value.kind()));
    };
    let drawn = layout.function().map_err(|e| e.to_string());
    let drawn = drawn.and_then(|function| Drawing::memory(&function).map_err(|e| e.to_string()));
    match drawn {
        Ok(mut drawing) => {
            drawing.title = layout.to_string();
            screen.drawn(&[draw::picture(&drawing, style)]);
            Outcome::Good
        }
        Err(reason) => usage(screen, &reason),
    }
}

/// Answers a command for the first kernel that has the tensor. The last argument of `answer` is true if the user named only the
/// kernel.
fn of_tensor(
    session: &mut Session,
    meant: Vec<Meant>,
    overrides: Overrides,
    screen: &mut Screen<'_>,
    answer: impl Fn(&Solved<'_>, &[TensorId], bool) -> Vec<Picture> + Send + 'static,
) -> Outcome {
    let setup = session.setup();
    let work = move |db: &Database| -> Answer {
        let mut missing = None;
        for Meant { kernel, tensor } in &meant {
            let solved = solve(db, kernel, &overrides, &setup)?;
            let Some(solved) = solved else { continue };
            match solved.tensors(tensor.as_deref()) {
                Ok(tensors) => return Ok(answer(&solved, &tensors, tensor.is_none())),
                Err(text) => {
                    missing.get_or_insert(text);
                }
            }
        }
        Err(EmitError::Usage(missing.unwrap_or_else(|| "there is no kernel yet".to_owned())))
    };
    let deadline = session.deadline();
    let answer = session.work(screen, deadline, move |db, _| work(db));
    show_answer(session, answer, screen)
}

fn solve<'db>(
    db: &'db Database,
    kernel: &ItemKey,
    overrides: &Overrides,
    setup: &Setup,
) -> Result<Option<Solved<'db>>, EmitError> {
    match kernel.find(db) {
        Some(Item::Kernel(kernel)) => Solved::new(db, kernel, overrides, setup).map(Some),
        _ => Ok(None),
    }
}

fn show_answer(session: &Session, answer: Result<Answer, Outcome>, screen: &mut Screen<'_>) -> Outcome {
    match answer {
        Err(outcome) => outcome,
        Ok(Ok(pictures)) => {
            match pictures.as_slice() {
                [Picture { text, drawing: None }] => screen.result(text),
                pictures => screen.drawn(pictures),
            }
            Outcome::Good
        }
        Ok(Err(EmitError::Usage(text))) => usage(screen, &text),
        Ok(Err(EmitError::Open { kernel, parameter })) => {
            let how = format!("write `{parameter}=...` behind the name");
            usage(screen, &format!("`{kernel}` needs a value for `{parameter}`: {how}"))
        }
        Ok(Err(EmitError::Found(found))) => {
            screen.diagnostics(&session.db, &found);
            outcome_of(&found)
        }
        Ok(Err(EmitError::Host(error))) => {
            screen.placeless(&error);
            Outcome::Environment
        }
    }
}

/// Lists the layouts of a kernel, one line each with the reason below, and at the end the bytes of its shared memory.
fn listing(solved: &Solved<'_>, tensors: &[TensorId]) -> String {
    let line = |id: &TensorId| {
        let (text, reason) = layout_text(solved.program(), solved.solution(), *id)?;
        Some(format!("{text}\n    {}", reason_text(reason)))
    };
    let lines: Vec<String> = tensors.iter().filter_map(line).collect();
    let bytes = solved.solution().shared_bytes;
    format!("{}\nshared memory: {bytes} B", lines.join("\n"))
}

/// Draws one tensor: registers as threads and values, shared memory as offsets coloured by bank. A tensor in neither place is
/// its title alone.
fn drawing(solved: &Solved<'_>, id: TensorId, style: Style) -> Picture {
    let (program, solution) = (solved.program(), solved.solution());
    let Some((title, _)) = layout_text(program, solution, id) else { return plain(String::new()) };
    let drawn = if let Some(held) = solution.registers.get(&id) {
        threads(&held.layout, &held.tile)
    } else if let Some(shared) = solution.shared.get(&id) {
        let composed = ComposedLayout { swizzle: shared.swizzle, offset: 0, layout: shared.layout.clone() };
        let bits = i64::from(program.tensor(id).dtype.bits());
        banks(&composed, bits)
    } else {
        return plain(title);
    };
    match drawn {
        Ok(drawing) => draw::picture(&Drawing { title, ..drawing }, style),
        Err(reason) => plain(format!("{title}\nit cannot be drawn: {reason}")),
    }
}

/// Draws a distribution. The first dimension becomes rows and all others columns. A single dimension is split into rows of 16,
/// 8 or 4 elements, the largest of these that divides it, and is one row otherwise.
///
/// # Errors
/// The reason why it cannot be drawn, such as its size.
fn threads(layout: &Layout, tile: &[i64]) -> Result<Drawing, String> {
    let (rows, cols) = match tile {
        [] => (1, 1),
        [only] => (*only, 1),
        [rows, rest @ ..] => (*rows, rest.iter().product()),
    };
    let drawing = Drawing::thread_value(layout, (rows, cols)).map_err(|e| e.to_string())?;
    if tile.len() > 1 {
        return Ok(drawing);
    }
    let count = drawing.rows;
    let width = [16, 8, 4].into_iter().find(|width| count.is_multiple_of(*width)).unwrap_or(count);
    Ok(Drawing { rows: count / width, cols: width, row_step: count / width, col_step: width, ..drawing })
}

/// Draws offsets in elements of `bits` bits, coloured by the banks that they fall into.
///
/// # Errors
/// The reason why they cannot be drawn, such as their number.
fn banks(composed: &ComposedLayout, bits: i64) -> Result<Drawing, String> {
    let mut memory = Drawing::memory(composed).map_err(|e| e.to_string())?;
    let banks = Drawing::banks(composed, bits).map_err(|e| e.to_string())?;
    for (cell, bank) in memory.cells.iter_mut().zip(&banks.cells) {
        cell.group = bank.group;
    }
    Ok(memory)
}

fn nothing_called(session: &Session, name: &str) -> String {
    let names: Vec<String> = session.kernels().iter().map(|k| k.name.to_string()).collect();
    match hx_base::nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("no kernel is called `{name}`; perhaps `{near}` is meant"),
        None if names.is_empty() => format!("no kernel is called `{name}`; there is none yet"),
        None => format!("no kernel is called `{name}`; the session has {}", names.join(", ")),
    }
}

fn plain(text: String) -> Picture {
    Picture { text, drawing: None }
}

fn usage(screen: &mut Screen<'_>, text: &str) -> Outcome {
    screen.usage(text);
    Outcome::Failed
}
