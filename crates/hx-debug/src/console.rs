//! Runs commands on a stepper, and answers with text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hx_base::SourceFile;
use hx_base::limits::byte_text;
use hx_driver::{Named, Stepper, Tile};
use hx_sim::{AccessKind, AgentId};

use crate::command::{Command, Direction, HELP, Moment, Reference};
use crate::show::{self, Look, listed};

/// The largest window of a tensor that is printed, in rows and columns.
const WINDOW: [usize; 2] = [16, 64];

/// The result of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub text: String,
    /// Whether the moment, the agent or the thread changed.
    pub moved: bool,
    /// Whether the session ends.
    pub quits: bool,
}

/// The state of a session besides the stepper's own.
#[derive(Debug)]
pub struct Console {
    look: Look,
    breaks: BTreeSet<(SourceFile, u32)>,
    /// For each agent and tensor, the tile that was printed last: values that have changed since are marked.
    printed: BTreeMap<(AgentId, String), Tile>,
}

impl Console {
    /// Makes a console for a screen of `width` columns.
    pub fn new(color: bool, width: usize) -> Console {
        Console { look: Look { color, width }, breaks: BTreeSet::new(), printed: BTreeMap::new() }
    }

    /// Replaces the breakpoints: files with lines from 0.
    pub fn set_breaks(&mut self, breaks: BTreeSet<(SourceFile, u32)>) {
        self.breaks = breaks;
    }

    /// Describes the record and the moment at which the session begins.
    pub fn greeting(&self, stepper: &Stepper<'_>) -> String {
        let (took, held) = stepper.cost();
        let [_, length] = stepper.progress();
        let [x, y, z] = stepper.focus().block;
        let [gx, gy, gz] = stepper.grid();
        let mut out = format!(
            "recorded `{}`, block [{x}, {y}, {z}] of [{gx}, {gy}, {gz}]: {length} steps, {} ({:.1} ms)\n",
            stepper.kernel(),
            byte_text(held as u64),
            took.as_secs_f64() * 1e3
        );
        if let Some(reason) = stepper.reason() {
            out += &format!("here: {reason}\n");
        }
        out += &self.stop(stepper);
        out
    }

    /// Describes the current moment: the operation, the lines around it, and the fault if it happened here.
    pub fn stop(&self, stepper: &Stepper<'_>) -> String {
        let mut out = show::moment(stepper, self.look) + "\n" + &show::excerpt(stepper, self.look);
        if stepper.is_at_fault() {
            out += &fault(stepper);
        }
        out
    }

    /// Runs a line as a command; an empty line does nothing.
    pub fn run(&mut self, stepper: &mut Stepper<'_>, line: &str) -> Answer {
        if line.trim().is_empty() {
            return Answer { text: String::new(), moved: false, quits: false };
        }
        match Command::parse(line) {
            Ok(Command::Quit) => Answer { text: String::new(), moved: false, quits: true },
            Ok(command) => {
                let before = (stepper.progress(), stepper.focus().id, stepper.thread());
                let text = self.done(stepper, command).unwrap_or_else(|error| format!("error: {error}\n"));
                let moved = before != (stepper.progress(), stepper.focus().id, stepper.thread());
                let text = if moved { text + &self.stop(stepper) } else { text };
                Answer { text, moved, quits: false }
            }
            Err(error) => Answer { text: format!("error: {error}\n"), moved: false, quits: false },
        }
    }

    /// Runs a command. Returns its answer without the description of the new moment.
    ///
    /// # Errors
    /// The reason why the command cannot be done, as text.
    fn done(&mut self, stepper: &mut Stepper<'_>, command: Command) -> Result<String, String> {
        Ok(match command {
            Command::Step(way, times) => {
                let went = (0..times).all(|_| stepper.step_operation(way.is_forward()));
                end(stepper, went, way)
            }
            Command::Next(way, times) => {
                let went = (0..times).all(|_| stepper.step_line(way.is_forward()));
                end(stepper, went, way)
            }
            Command::Out(_) if stepper.spot().is_none_or(|spot| spot.frames.len() < 2) => {
                return Err(
                    "the operation is in no call: `continue` runs to a breakpoint or the end".to_owned()
                );
            }
            Command::Out(way) => {
                let went = stepper.step_out(way.is_forward());
                end(stepper, went, way)
            }
            Command::Operation(way, text) => {
                let went = stepper.step_to(way.is_forward(), &text);
                end(stepper, went, way)
            }
            Command::Continue(way) => {
                let went = stepper.run_to(way.is_forward(), &self.breaks);
                end(stepper, went, way)
            }
            Command::Access { way, reads, element } => self.access(stepper, way, reads, &element)?,
            Command::Go(moment) => {
                match moment {
                    Moment::Start => stepper.seek(0),
                    Moment::End => stepper.to_end(),
                    Moment::Step(step) => stepper.seek(step),
                }
                String::new()
            }
            Command::Break(text) => self.add_break(stepper, &text)?,
            Command::Breaks => self.listed_breaks(stepper),
            Command::Delete(number) => {
                let at = number.checked_sub(1).and_then(|at| self.breaks.iter().nth(at).copied());
                let at = at.ok_or_else(|| format!("there is no breakpoint {number}: `breaks` lists them"))?;
                self.breaks.remove(&at);
                self.listed_breaks(stepper)
            }
            Command::Print(reference) => self.print(stepper, &reference)?,
            Command::Tensors => tensors(stepper),
            Command::Integers => {
                stepper.integers().into_iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
            }
            Command::Barriers => barriers(stepper),
            Command::Agents => agents(stepper),
            Command::Agent(number) => {
                let agents = stepper.agents();
                let agent = agents
                    .get(number)
                    .ok_or_else(|| format!("there is no agent {number}: `agents` lists them"))?;
                stepper.set_focus(agent.id);
                String::new()
            }
            Command::Thread(thread) => match stepper.set_thread(thread) {
                true => String::new(),
                false => return Err(format!("the block has no thread {thread}: `agents` lists its threads")),
            },
            Command::Where => calls(stepper),
            Command::List => show::excerpt(stepper, self.look),
            Command::Fault => match stepper.fault() {
                [] => "the block runs to its end without a fault\n".to_owned(),
                _ => fault(stepper),
            },
            Command::Help => HELP.iter().map(|(forms, text)| format!("{forms:<16} {text}\n")).collect(),
            Command::Quit => String::new(),
        })
    }

    fn access(
        &self,
        stepper: &mut Stepper<'_>,
        way: Direction,
        reads: bool,
        element: &Reference,
    ) -> Result<String, String> {
        let named = named(stepper, &element.name)?;
        if !element.exact {
            return Err(format!("expected an element of `{}`, such as `{0}{1}`", named.name, zeros(&named)));
        }
        let place = stepper.place(&named, &element.at).ok_or_else(|| outside(&named, &element.at))?;
        if reads && named.memory() == "register" {
            return Err(
                "reads of registers are not recorded: `last read` takes shared and global tensors".to_owned()
            );
        }
        let wanted = |kind: AccessKind| (kind == AccessKind::Read) == reads;
        let found = stepper.find(&place, way.is_forward(), &|access| wanted(access.kind));
        let at = format!("`{}[{}]`", named.name, listed(&element.at));
        let (verb, when) =
            (if reads { "reads" } else { "writes" }, if way.is_forward() { "later" } else { "earlier" });
        let Some(access) = found else { return Ok(format!("nothing {verb} {at} {when}\n")) };
        let verb = match access.kind {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Issue => "begins to copy into",
            AccessKind::Arrive => "the copy arrives in",
        };
        let title = stepper.spot_at(access.site).map_or("an operation", |spot| &spot.title);
        Ok(match access.kind {
            AccessKind::Arrive => {
                format!("{verb} {at} here, issued by {} in `{title}`\n", show::threads(access.threads))
            }
            _ => {
                let who = show::threads(thread_of(&access, stepper.thread()));
                let block = match stepper.blocks().as_slice() {
                    [_] => String::new(),
                    _ => format!(" of block {:?}", stepper.focus().block),
                };
                format!("{who}{block} {verb} {at} in `{title}`\n")
            }
        })
    }

    fn add_break(&mut self, stepper: &Stepper<'_>, text: &str) -> Result<String, String> {
        let here = stepper.spot().map(|spot| (spot.here().file, spot.here().line));
        let (path, line) = text.rsplit_once(':').map_or((None, text), |(path, line)| (Some(path), line));
        let expected =
            || format!("found `{text}`, expected a line of the kernel: `break 41` or `break gemm.hx:41`");
        let line: u32 = if text.is_empty() {
            here.ok_or_else(expected)?.1 + 1
        } else {
            line.parse().map_err(|_| expected())?
        };
        let lines = stepper.lines();
        let fits = |(file, _): &&(SourceFile, u32)| match path {
            Some(path) => Path::new(&file.path(stepper.db())).ends_with(path),
            None => here.map_or_else(|| stepper.kernel_file(), |here| here.0) == *file,
        };
        // A breakpoint on a line without operations moves to the next line that has one.
        let found = lines.iter().filter(fits).find(|(_, at)| *at + 1 >= line).copied();
        let found = found.ok_or_else(|| {
            format!("there is no operation at or after line {line}: `where` names the files")
        })?;
        self.breaks.insert(found);
        Ok(format!("stops at {}:{}\n", found.0.path(stepper.db()), found.1 + 1))
    }

    fn listed_breaks(&self, stepper: &Stepper<'_>) -> String {
        let line = |(number, (file, line)): (usize, &(SourceFile, u32))| {
            format!("{}  {}:{}\n", number + 1, file.path(stepper.db()), line + 1)
        };
        match self.breaks.is_empty() {
            true => "no breakpoints: `break LINE` sets one\n".to_owned(),
            false => self.breaks.iter().enumerate().map(line).collect(),
        }
    }

    fn print(&mut self, stepper: &Stepper<'_>, reference: &Reference) -> Result<String, String> {
        let integers = stepper.integers();
        if let Some((name, value)) = integers.iter().find(|(name, _)| *name == reference.name) {
            return Ok(format!("{name} = {value}\n"));
        }
        let named = named(stepper, &reference.name)?;
        if reference.exact {
            return element(stepper, &named, &reference.at);
        }
        if reference.at.len() > named.shape.len() {
            return Err(outside(&named, &reference.at));
        }
        let tile = stepper.tile(&named, &reference.at, WINDOW);
        let key = (stepper.focus().id, named.name.clone());
        let before = self.printed.get(&key).filter(|before| before.named == named);
        let shape = listed(&named.shape);
        let mut out = format!("{} {} {}[{shape}]\n", named.memory(), named.name, named.dtype);
        out += &show::tile(&tile, before, stepper.thread(), self.look);
        self.printed.insert(key, tile);
        Ok(out)
    }
}

/// Explains why a move stopped before its goal; empty if it reached the goal (`went`).
fn end(stepper: &Stepper<'_>, went: bool, way: Direction) -> String {
    let [step, length] = stepper.progress();
    match way {
        _ if went => String::new(),
        Direction::Forward if step == length => "the record ends here\n".to_owned(),
        Direction::Back if step == 0 => "the record begins here\n".to_owned(),
        _ => format!("interrupted at step {step} of {length}\n"),
    }
}

/// Returns the threads of an access, or the thread in focus if it is one of them; the end is excluded.
fn thread_of(access: &hx_sim::MemoryAccess, thread: u32) -> [u32; 2] {
    let [first, end] = access.threads;
    if (first..end).contains(&thread) { [thread, thread + 1] } else { access.threads }
}

/// Describes an element: its value, and the thread that holds it or its byte and bank in shared memory.
///
/// # Errors
/// If the coordinates are outside of the tensor, as text.
fn element(stepper: &Stepper<'_>, named: &Named, at: &[i64]) -> Result<String, String> {
    stepper.place(named, at).ok_or_else(|| outside(named, at))?;
    let tile = stepper.tile(named, at, [1, 1]);
    let cell = &tile.cells[0];
    let place = match (cell.holder, cell.byte) {
        (Some((thread, value)), _) => format!(", value {value} of thread {thread}"),
        (None, Some(byte)) => {
            format!(", byte {byte} of shared memory, bank {}", cell.bank().unwrap_or_default())
        }
        (None, None) => String::new(),
    };
    let text = match cell.text.as_str() {
        "-" => "never written".to_owned(),
        "…" => "a copy fills it".to_owned(),
        "×" => "the memory holds another tensor".to_owned(),
        value => value.to_owned(),
    };
    Ok(format!("{}[{}] = {text}{place}\n", named.name, listed(at)))
}

fn named(stepper: &Stepper<'_>, name: &str) -> Result<Named, String> {
    let all = stepper.tensors();
    let found = all.iter().find(|named| named.name == name).cloned();
    found.ok_or_else(|| {
        format!("there is no tensor and no integer `{name}` here: `tensors` and `ints` list them")
    })
}

fn zeros(named: &Named) -> String {
    format!("[{}]", vec!["0"; named.shape.len()].join(", "))
}

fn outside(named: &Named, at: &[i64]) -> String {
    if at.len() != named.shape.len() {
        let (found, dims) = (at.len(), named.shape.len());
        return format!(
            "found {found} coordinates, expected {dims}: `{}` is [{}]",
            named.name,
            listed(&named.shape)
        );
    }
    format!("the element is outside of `{}`, whose shape is [{}]", named.name, listed(&named.shape))
}

fn tensors(stepper: &Stepper<'_>) -> String {
    let line = |named: Named| {
        format!("{:<9} {} {}[{}]\n", named.memory(), named.name, named.dtype, listed(&named.shape))
    };
    stepper.tensors().into_iter().map(line).collect()
}

fn barriers(stepper: &Stepper<'_>) -> String {
    let all = stepper.barriers();
    match all.is_empty() {
        true => "the kernel has no pipelines, barriers and counters\n".to_owned(),
        false => all.into_iter().map(|(name, text)| format!("{name}: {text}\n")).collect(),
    }
}

fn agents(stepper: &Stepper<'_>) -> String {
    let focus = stepper.focus().id;
    let agents = stepper.agents();
    let lines = agents.iter().enumerate();
    lines.map(|(number, agent)| show::agent(stepper, number, agent, agent.id == focus) + "\n").collect()
}

fn calls(stepper: &Stepper<'_>) -> String {
    let Some(spot) = stepper.spot() else { return "between operations\n".to_owned() };
    let line = |frame: &hx_driver::StepFrame| {
        format!("`{}` at {}:{}\n", frame.name(), frame.file.path(stepper.db()), frame.line + 1)
    };
    spot.frames.iter().map(line).collect()
}

/// Describes the fault of the record: messages, notes, the element, and the places that are involved.
fn fault(stepper: &Stepper<'_>) -> String {
    let mut out = String::new();
    for found in stepper.fault() {
        out += &format!("fault: {} ({})\n", found.message, found.code.id);
        let notes = found.notes.iter().map(|note| format!("  {note}\n"));
        let element = stepper.fault_element().map(|(name, at)| {
            let element = format!("{name}[{}]", listed(&at));
            format!("  the element is `{element}`: `last {element}` goes to its last write\n")
        });
        let places = found.secondary.iter().map(|label| {
            let line = hx_base::line_index(stepper.db(), label.file).line_col(label.range.start()).line;
            format!("  {}:{}: {}\n", label.file.path(stepper.db()), line + 1, label.message)
        });
        out.extend(notes.chain(element).chain(places));
    }
    out
}
