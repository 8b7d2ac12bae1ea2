//! The commands of the console, from text.

/// A direction in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forward,
    Back,
}

impl Direction {
    pub(crate) fn is_forward(self) -> bool {
        self == Direction::Forward
    }
}

/// A command of the console, with its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// Moves by this number of operations.
    Step(Direction, u32),
    /// Moves by this number of lines.
    Next(Direction, u32),
    Out(Direction),
    /// Moves to the next breakpoint, or to the end of the record in that direction.
    Continue(Direction),
    /// Moves to an operation, named by its number or a part of its text.
    Operation(Direction, String),
    /// Moves to the previous or the next access to an element: a read if `reads`, otherwise a write.
    Access {
        way: Direction,
        reads: bool,
        element: Reference,
    },
    Go(Moment),
    Break(String),
    Breaks,
    Delete(usize),
    Print(Reference),
    Tensors,
    Integers,
    Barriers,
    Agents,
    Agent(usize),
    Thread(u32),
    Where,
    List,
    Fault,
    Help,
    Quit,
}

/// A moment of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    Start,
    End,
    Step(u64),
}

/// A tensor, an element or a window of it: `acc`, `acc[3, 4]`, `sa[8.., 0.., 1]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) at: Vec<i64>,
    /// Whether the reference is an element, as in `acc[3, 4]`; otherwise the coordinates are the start of a window.
    pub(crate) exact: bool,
}

/// The forms of each command, and its description.
pub(crate) const HELP: &[(&str, &str)] = &[
    ("step [N], s", "to the next operation; `S` or `step back` to the previous one"),
    ("next [N], n", "to the next line, over calls; `N` or `next back` to the previous one"),
    ("out, o", "out of the innermost call; `O` or `out back` to before it"),
    (
        "continue, c",
        "to a breakpoint or the end; `C` or `continue back` to the previous one or the beginning",
    ),
    ("op #N|TEXT", "to the next operation with this number or text; `op back …` to the previous one"),
    ("last X[I, J]", "to the latest earlier write of an element; `last read …` to the read"),
    ("after X[I, J]", "to the next write of an element; `after read …` to the next read"),
    ("go N|start|end", "to the moment after N steps, to the beginning, to the end or the fault"),
    ("print X, p", "a tensor, from a coordinate on as in `sa[8.., 0.., 1]`, an element, or an integer"),
    ("tensors, ints", "the tensors and the integers that this operation can name"),
    ("barriers", "the barriers of pipelines, roles and counters: phases, arrivals, bytes"),
    (
        "agents",
        "the threads that run together, where they are, and what they wait for; `agent N` follows one",
    ),
    ("thread N, t", "to follow this thread of the block"),
    ("break LINE", "a breakpoint, also FILE:LINE; `breaks` lists them, `delete N` removes one"),
    ("where, list", "the calls around the operation; the text around it"),
    ("fault", "the fault that ends the run"),
    ("quit, q", "the end"),
];

impl Command {
    /// Parses a line as a command.
    ///
    /// # Errors
    /// The reason as text, with an example of what is expected.
    pub(crate) fn parse(line: &str) -> Result<Command, String> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let (back, after) = match rest.split_once(char::is_whitespace).unwrap_or((rest, "")) {
            ("back", after) => (Direction::Back, after.trim()),
            _ => (Direction::Forward, rest),
        };
        let capital = |word: &str| word.len() == 1 && word.chars().all(char::is_uppercase);
        let way = if capital(word) { Direction::Back } else { back };
        Ok(match word {
            "step" | "s" | "S" => Command::Step(way, count(after)?),
            "next" | "n" | "N" => Command::Next(way, count(after)?),
            "out" | "o" | "O" => Command::Out(way),
            "continue" | "c" | "C" => Command::Continue(way),
            "op" if after.is_empty() => {
                return Err("expected a number or a part of an operation: `op #4`".to_owned());
            }
            "op" => Command::Operation(way, after.to_owned()),
            "last" | "after" => {
                let way = if word == "last" { Direction::Back } else { Direction::Forward };
                let (reads, element) = match rest.strip_prefix("read ") {
                    Some(element) => (true, element),
                    None => (false, rest),
                };
                Command::Access { way, reads, element: reference(element)? }
            }
            "go" => Command::Go(match rest {
                "start" => Moment::Start,
                "end" => Moment::End,
                _ => {
                    Moment::Step(rest.parse().map_err(|_| "expected a number, `start` or `end`".to_owned())?)
                }
            }),
            "break" | "b" => Command::Break(rest.to_owned()),
            "breaks" => Command::Breaks,
            "delete" => Command::Delete(number(rest, "the number of a breakpoint: `breaks` lists them")?),
            "print" | "p" => Command::Print(reference(rest)?),
            "tensors" => Command::Tensors,
            "ints" | "integers" => Command::Integers,
            "barriers" => Command::Barriers,
            "agents" => Command::Agents,
            "agent" => Command::Agent(number(rest, "the number of an agent: `agents` lists them")?),
            "thread" | "t" => Command::Thread(number(rest, "the number of a thread in its block")?),
            "where" | "bt" => Command::Where,
            "list" | "l" => Command::List,
            "fault" => Command::Fault,
            "help" | "h" | "?" => Command::Help,
            "quit" | "q" | "exit" => Command::Quit,
            _ => return Err(format!("there is no command `{word}`: `help` lists them")),
        })
    }
}

/// Parses how often a command is repeated; 1 if the text is empty.
///
/// # Errors
/// If it is no number, as text.
fn count(text: &str) -> Result<u32, String> {
    if text.is_empty() { Ok(1) } else { number(text, "a number of times, as in `step 3`") }
}

fn number<N: std::str::FromStr>(text: &str, expected: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("found `{text}`, expected {expected}"))
}

/// Parses a tensor, an element or a window of it, as in [`Reference`].
///
/// # Errors
/// If the text is none of these, as text with an example.
pub(crate) fn reference(text: &str) -> Result<Reference, String> {
    let expected = || format!("found `{text}`, expected a name or an element, such as `acc` or `acc[3, 4]`");
    let (name, inside) = match text.split_once('[') {
        None => (text.trim(), None),
        Some((name, rest)) => (name.trim(), Some(rest.trim().strip_suffix(']').ok_or_else(expected)?)),
    };
    let is_name = |c: char| c.is_alphanumeric() || "_().".contains(c);
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(expected());
    }
    let mut exact = inside.is_some();
    let mut coordinate = |part: &str| {
        let part = part.trim();
        let window = part.split_once("..");
        exact &= window.is_none();
        let start = window.map_or(part, |(start, _)| start.trim());
        if window.is_some_and(|(_, end)| !end.trim().is_empty()) {
            return Err(format!(
                "found `{part}`, expected where the part begins: `{start}..` shows what fits"
            ));
        }
        if start.is_empty() && window.is_some() {
            return Ok(0);
        }
        start.parse::<i64>().ok().filter(|at| *at >= 0).ok_or_else(expected)
    };
    let at =
        inside.iter().flat_map(|inside| inside.split(',')).map(&mut coordinate).collect::<Result<_, _>>()?;
    Ok(Reference { name: name.to_owned(), at, exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capital_letters_and_back_go_back() {
        assert_eq!(Command::parse("S"), Ok(Command::Step(Direction::Back, 1)));
        assert_eq!(Command::parse("step back 3"), Ok(Command::Step(Direction::Back, 3)));
        assert_eq!(Command::parse(" s 2 "), Ok(Command::Step(Direction::Forward, 2)));
        assert_eq!(
            Command::parse("op back gemm"),
            Ok(Command::Operation(Direction::Back, "gemm".to_owned()))
        );
    }

    #[test]
    fn a_part_of_a_tensor_is_an_element_or_a_window() {
        let parsed = |text| reference(text).map(|r| (r.name, r.at, r.exact));
        assert_eq!(parsed("acc"), Ok(("acc".to_owned(), vec![], false)));
        assert_eq!(parsed("acc[3, 4]"), Ok(("acc".to_owned(), vec![3, 4], true)));
        assert_eq!(parsed("sa[8.., .., 1]"), Ok(("sa".to_owned(), vec![8, 0, 1], false)));
        assert!(parsed("acc[0..4]").is_err() && parsed("acc[-3..]").is_err());
        assert!(parsed("acc[3").is_err() && parsed("acc[x]").is_err() && parsed("").is_err());
    }

    #[test]
    fn a_wrong_command_says_what_is_expected() {
        let error = |line| Command::parse(line).expect_err("it is wrong");
        assert_eq!(error("jump"), "there is no command `jump`: `help` lists them");
        assert_eq!(error("thread x"), "found `x`, expected the number of a thread in its block");
        assert_eq!(error("step x"), "found `x`, expected a number of times, as in `step 3`");
    }
}
