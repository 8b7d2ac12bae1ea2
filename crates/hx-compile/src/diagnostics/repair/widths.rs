//! Turns a change of an access's width into edits of the text.

use hx_base::Edit;
use hx_lower::Lowered;

use super::{Places, pin, rearranged};
use crate::widths::WidthChange;

/// Returns the words of the title for a change, and its edits; `None` if the source text has no such edit.
pub(crate) fn edits(
    places: &Places<'_>,
    lowered: &Lowered,
    change: &WidthChange,
) -> Option<(String, Vec<Edit>)> {
    let program = &lowered.program;
    match change {
        WidthChange::Pins(pins) => {
            let edits = pins.iter().map(|(tensor, layout)| pin(places, lowered, *tensor, layout));
            let names: Vec<String> =
                pins.iter().map(|(id, _)| format!("`{}`", program.tensor(*id).name)).collect();
            Some((format!("pin {}{}", names.join(" and "), only_for(lowered)), edits.collect::<Option<_>>()?))
        }
        WidthChange::Rearranged(user, tensor) => {
            let name = program.op(*user)?.kind.name();
            let how = format!("rearrange `{}` for the `{name}`", program.tensor(*tensor).name);
            Some((how, vec![rearranged(places, lowered, *user, *tensor)?]))
        }
        WidthChange::Staged(_) => None,
    }
}

/// Formats the values of the compile-time parameters for which a layout that is written out holds.
pub(crate) fn only_for(lowered: &Lowered) -> String {
    let args: Vec<String> =
        lowered.sources.args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if args.is_empty() { String::new() } else { format!(", for {}", args.join(", ")) }
}
