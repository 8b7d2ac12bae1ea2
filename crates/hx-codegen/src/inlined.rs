//! PTX of the source in the emitted text: the comment behind it names its function, so that the assembler's findings lead to the source.

/// The words before the function's name.
const MARK: &str = "// ptx of ";

/// Returns the PTX with a comment that names its function. The comment ends with the line.
pub(crate) fn marked(ptx: &str, function: &str) -> String {
    format!("{ptx} {MARK}{function}")
}

/// Returns the errors of the assembler in the PTX of functions, each with the name of the function. `log` is that of the compile, `ptx`
/// the text that the assembler read: a line of the log gives the number of a line in it.
pub fn inlined_faults(log: &str, ptx: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in log.lines() {
        // ptxas application ptx input, line 44; error   : Unknown modifier '.b99'
        let Some((place, message)) = line.split_once("; error") else { continue };
        let number = place.rsplit_once(" line ").and_then(|(_, number)| number.trim().parse::<usize>().ok());
        let Some(at) = number.and_then(|number| number.checked_sub(1)) else { continue };
        let asm = lines.get(at..).unwrap_or_default().iter();
        let mut asm =
            asm.take_while(|line| !line.contains("end inline asm") && !line.contains("begin inline asm"));
        let Some((_, function)) = asm.find_map(|line| line.split_once(MARK)) else { continue };
        let message = message.trim_start_matches([' ', ':']).trim();
        let fault = (function.trim().to_owned(), message.to_owned());
        // Each element of a tile has a copy of the text.
        if !found.contains(&fault) {
            found.push(fault);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_lead_to_functions() {
        let ptx = "ld.global.b32 %f1, [%rd1];\n// begin inline asm\nlg2.approx.f32 %f2, %f1; // ptx of lg\n// end inline asm\n\
                   // begin inline asm\n{ .reg .b32 t;\nmov.b99 t, %f2;\nmov.b32 %f3, t; } // ptx of odd\n// end inline asm\nbad;\n";
        let log = "ptxas application ptx input, line 7; error   : Unknown modifier '.b99'\n\
                   ptxas application ptx input, line 6; error   : Arguments mismatch\n\
                   ptxas application ptx input, line 7; error   : Unknown modifier '.b99'\n\
                   ptxas application ptx input, line 10; error   : elsewhere\n\
                   ptxas application ptx input, line 99; error   : beyond\n\
                   ptxas fatal   : Ptx assembly aborted due to errors\n";
        let odd = ["Unknown modifier '.b99'", "Arguments mismatch"]
            .map(|found| ("odd".to_owned(), found.to_owned()));
        assert_eq!(inlined_faults(log, ptx), odd);
    }
}
