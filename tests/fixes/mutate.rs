//! Mistakes in right programs: a statement of synchronization that is missing, too weak or too early, and slips of the hand.

use super::gather::Program;

/// The words that begin a statement of synchronization, or end the name of one.
const ORDERS: [&str; 12] = [
    "sync(",
    "sync_warp(",
    "commit(",
    "wait(",
    "gemm_wait(",
    "wait_stores(",
    ".release(",
    ".release_previous(",
    ".take(",
    ".pass(",
    "wait_for_previous(",
    "fill(",
];

/// Returns the program with one mistake, for each mistake that its text has a place for.
pub(super) fn mutants(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for file in 0..program.files.len() {
        let text = &program.files[file].1;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for at in 0..lines.len() {
            for (what, mistake) in mistakes(&lines, at) {
                let mut mutant = program.clone();
                mutant.name = format!("{}:{} {what}", program.name, at + 1);
                mutant.files[file].1 = mistake;
                all.push(mutant);
            }
        }
    }
    all
}

/// Returns the changed texts with one mistake in line `at` (from 0), each with a name of the mistake, such as `deleted`.
fn mistakes(lines: &[&str], at: usize) -> Vec<(String, String)> {
    let line = lines[at];
    let code = line.trim();
    let mut all = Vec::new();
    let mut put = |what: &str, new: Vec<String>| {
        let text: String = lines[..at].iter().map(|line| (*line).to_owned()).chain(new).collect::<String>();
        all.push((what.to_owned(), text));
    };
    let rest = |from: usize| lines[from..].iter().map(|line| (*line).to_owned());
    let replaced = |new: String| std::iter::once(new).chain(rest(at + 1)).collect::<Vec<_>>();
    if code.starts_with("//") {
        return all;
    }
    let orders =
        ORDERS.iter().any(|word| code.starts_with(word) || word.starts_with('.') && code.contains(word));
    if orders && code.ends_with(';') && !code.starts_with("let ") {
        put("deleted", rest(at + 1).collect());
        if let Some(next) = lines.get(at + 1).filter(|next| next.trim().ends_with(';')) {
            put("late", [(*next).to_owned(), line.to_owned()].into_iter().chain(rest(at + 2)).collect());
        }
        if let Some((before, number)) = code.strip_suffix(");").and_then(|call| call.rsplit_once('('))
            && let Ok(number) = number.parse::<u32>()
            && before != "fill"
        {
            put("weaker", replaced(line.replace(&format!("({number})"), &format!("({})", number + 1))));
        }
    }
    for (from, to) in [
        (".wait();", None),
        (", signal: ", None),
        ("mut ", Some("")),
        ("copy(", Some("cpoy(")),
        ("register_tensor(", Some("regster_tensor(")),
        ("cdiv(", Some("cidv(")),
        ("f32,", Some("float,")),
        ("threads 128", Some("threads 120")),
    ] {
        let Some(start) = line.find(from) else { continue };
        let mistake = match (from, to) {
            (_, Some(to)) => line.replacen(from, to, 1),
            (".wait();", None) => match line[..start].rsplit_once("= ") {
                Some((binding, _)) => format!("{binding}= 0;\n"),
                None => continue,
            },
            _ => match line[start + 1..].find([',', ')']) {
                Some(end) => format!("{}{}", &line[..start], &line[start + 1 + end..]),
                None => continue,
            },
        };
        put(&format!("without or with another `{}`", from.trim()), replaced(mistake));
    }
    if let Some(start) = line.find("cast(")
        && let Some(end) = closing(&line[start + 5..])
        && let Some((value, _)) = line[start + 5..start + 5 + end].rsplit_once(", ")
    {
        put("not cast", replaced(format!("{}{value}{}", &line[..start], &line[start + 6 + end..])));
    }
    all
}

/// Returns the byte offset of the `)` that closes a `(` directly before the text; `None` if nothing closes it.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            ')' => return Some(at),
            _ => {}
        }
        None
    })
}
