//! The commands of the prompt as data, and the dispatch from a line to its command.

mod describe;
mod files;
mod kernels;
mod layouts;
mod runs;
mod settings;
mod uses;

use hx_base::nearest;

pub(crate) use self::settings::SETTINGS;
use crate::screen::Screen;
use crate::session::{Outcome, Session};

/// A command, with the texts that `:help` shows.
pub(crate) struct Command {
    pub name: &'static str,
    pub arguments: &'static str,
    pub what: &'static str,
    /// Sentences for `:help NAME`.
    pub more: &'static str,
    run: fn(&mut Session, &str, &mut Screen<'_>) -> Outcome,
}

/// Every command, in the order of `:help`.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "help",
        arguments: "[COMMAND]",
        what: "show the commands, or what one does",
        more: "`:help layout` and `?:layout` are the same.",
        run: describe::help,
    },
    Command {
        name: "type",
        arguments: "EXPR|NAME",
        what: "the type of a value; the header of an item",
        more: "The expression is evaluated, and leaves nothing behind.",
        run: describe::type_of,
    },
    Command {
        name: "layout",
        arguments: "X [all]",
        what: "draw a layout: a value, or a tensor of a kernel",
        more: "X is an expression whose value is a layout, a kernel (all its layouts are listed), or a register or shared tensor \
               of a kernel: `rc` of the newest kernel that has one, `matmul.rc` of that kernel. Registers are coloured by thread, \
               shared memory by bank. `NAME=VALUE` replaces a compile-time argument; `all` draws more than fits the screen.",
        run: layouts::layout,
    },
    Command {
        name: "why",
        arguments: "X",
        what: "why a tensor of a kernel has its layout",
        more: "The operations that touch the tensor with their instructions, and the chain of reasons. X is as for `:layout`.",
        run: layouts::why,
    },
    Command {
        name: "emit",
        arguments: "STAGE [KERNEL]",
        what: "a stage of a kernel: tile constraints layouts thread cuda ptx sass",
        more: "The newest kernel, if none is named. `NAME=VALUE` replaces a compile-time argument.",
        run: layouts::emit,
    },
    Command {
        name: "run",
        arguments: "[NAME]",
        what: "run `main`, or the tests whose titles contain NAME",
        more: "Without a `main` and a name, every test runs.",
        run: runs::run,
    },
    Command {
        name: "bench",
        arguments: "[NAME]",
        what: "time the benches whose titles contain NAME; needs a GPU",
        more: "`:time` measures one entry on any machine.",
        run: runs::bench,
    },
    Command {
        name: "time",
        arguments: "ENTRY",
        what: "evaluate an entry and tell how long its parts took",
        more: "A launch counts from this side: compiling, copies and the kernel.",
        run: runs::time,
    },
    Command {
        name: "device",
        arguments: "[DEVICE]",
        what: "where kernels run: auto, sim, cuda or cuda:N",
        more: "Values live on the host, so every binding stays.",
        run: settings::device,
    },
    Command {
        name: "target",
        arguments: "[ARCH]",
        what: "what the simulator stands for, such as sm_80 or sm_90a",
        more: "A GPU is what it is.",
        run: settings::target,
    },
    Command {
        name: "set",
        arguments: "[NAME VALUE]",
        what: "settings: memory, precision, seed and timeout",
        more: "`memory SIZE` limits the memory of tensors, `precision N` the significant digits of their numbers (or `full`), `timeout \
               SECONDS` the time of an entry (or `off`); `seed N` begins the random numbers anew. Without a value, the setting is \
               shown; without a name, all settings.",
        run: settings::set,
    },
    Command {
        name: "load",
        arguments: "FILE",
        what: "bring the items of a file into scope",
        more: "A file of the standard library is `std/matmul.hx`; a folder brings all its files.",
        run: files::load,
    },
    Command {
        name: "reload",
        arguments: "",
        what: "read the loaded files again",
        more: "What the session has from a file with errors stays as it was.",
        run: files::reload,
    },
    Command {
        name: "save",
        arguments: "FILE",
        what: "write the session as a file for `hx run`",
        more: "Items as they are seen last, then the statements as `main`. `:save! FILE` replaces a file.",
        run: files::save,
    },
    Command {
        name: "save!",
        arguments: "FILE",
        what: "the same over a file that is there",
        more: "",
        run: files::save_over,
    },
    Command {
        name: "reset",
        arguments: "",
        what: "forget every cell, value and loaded file",
        more: "The machine and the settings stay.",
        run: settings::reset,
    },
    Command {
        name: "quit",
        arguments: "",
        what: "leave; so does Ctrl-D",
        more: "",
        run: |_, _, _| Outcome::Quit,
    },
];

/// Runs a command, given without its colon.
pub(crate) fn run(session: &mut Session, text: &str, screen: &mut Screen<'_>) -> Outcome {
    let text = text.trim();
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match find(name) {
        Ok(command) if command.arguments.is_empty() && !rest.trim().is_empty() => {
            screen.usage(&format!("`:{name}` takes nothing, found `{}`", rest.trim()));
            Outcome::Failed
        }
        Ok(command) => (command.run)(session, rest.trim(), screen),
        Err(text) => {
            screen.usage(&text);
            Outcome::Failed
        }
    }
}

/// Returns the help about a command.
///
/// # Errors
/// As for [`find`].
pub(crate) fn help_text(name: &str) -> Result<String, String> {
    let command = find(name)?;
    let text = format!(":{} {}\n{}\n{}", command.name, command.arguments, command.what, command.more);
    Ok(text.trim_end().to_owned())
}

/// Explains `?name`.
pub(crate) fn explain(session: &mut Session, name: &str, screen: &mut Screen<'_>) -> Outcome {
    describe::explain(session, name, screen)
}

/// Returns the command of that name, or the only command that begins with it.
///
/// # Errors
/// A sentence for the user, if several commands begin with the name or none does.
fn find(name: &str) -> Result<&'static Command, String> {
    if let Some(command) = COMMANDS.iter().find(|c| c.name == name) {
        return Ok(command);
    }
    let begun: Vec<&Command> =
        COMMANDS.iter().filter(|c| !name.is_empty() && c.name.starts_with(name)).collect();
    if let [command] = begun.as_slice() {
        return Ok(command);
    }
    if begun.len() > 1 {
        let names: Vec<String> = begun.iter().map(|c| format!("`:{}`", c.name)).collect();
        return Err(format!("`:{name}` may be {}", names.join(" or ")));
    }
    let hint = match nearest(name, COMMANDS.iter().map(|c| c.name)) {
        Some(near) => format!("perhaps `:{near}` is meant"),
        None => "`:help` lists them".to_owned(),
    };
    Err(format!("there is no command `:{name}`; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_by_their_beginning() {
        let found = |name| find(name).map_or_else(|text| text, |c| c.name.to_owned());
        assert_eq!(found("lay"), "layout");
        assert_eq!(found("q"), "quit");
        assert_eq!(found("save"), "save");
        assert_eq!(found("re"), "`:re` may be `:reload` or `:reset`");
        assert_eq!(found("layuot"), "there is no command `:layuot`; perhaps `:layout` is meant");
        assert_eq!(found("x"), "there is no command `:x`; `:help` lists them");
    }
}
