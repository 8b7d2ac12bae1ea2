//! The inputs of the session.

use serde_json::{Value, json};

use crate::message::HistoryRequest;

/// The executed cells, oldest first, with their numbers.
#[derive(Debug, Default)]
pub(crate) struct History {
    inputs: Vec<(u32, String)>,
}

impl History {
    pub(crate) fn push(&mut self, number: u32, code: &str) {
        self.inputs.push((number, code.to_owned()));
    }

    /// Returns the content of a `history_reply`. Only the current session is known; its number is 0. The history is empty for
    /// another session and for an unknown access type.
    pub(crate) fn reply(&self, request: &HistoryRequest) -> Value {
        let most = request.n.unwrap_or(usize::MAX);
        let mut found: Vec<&(u32, String)> = match request.hist_access_type.as_str() {
            "range" if request.session == 0 => {
                let inside =
                    |number: i64| number >= request.start && request.stop.is_none_or(|stop| number < stop);
                self.inputs.iter().filter(|(number, _)| inside(i64::from(*number))).collect()
            }
            "tail" => last(self.inputs.iter().collect(), most),
            "search" => {
                let pattern: Vec<char> = request.pattern.as_deref().unwrap_or("*").chars().collect();
                let fits = |text: &str| is_match(&pattern, &text.chars().collect::<Vec<_>>());
                last(self.inputs.iter().filter(|(_, code)| fits(code)).collect(), most)
            }
            _ => Vec::new(),
        };
        if request.unique {
            let all = found.clone();
            let mut at = 0;
            found.retain(|(_, code)| {
                at += 1;
                !all[at..].iter().any(|(_, later)| later == code)
            });
        }
        let entry = |(number, code): &&(u32, String)| match request.output {
            true => json!([0, number, [code, null]]),
            false => json!([0, number, code]),
        };
        json!({ "status": "ok", "history": found.iter().map(entry).collect::<Vec<_>>() })
    }
}

fn last<T>(mut all: Vec<T>, most: usize) -> Vec<T> {
    all.split_off(all.len().saturating_sub(most))
}

/// Reports whether a pattern matches a whole text. `*` matches any characters, `?` matches one.
fn is_match(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    // The last `*` of the pattern, and the end of the text that it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, reached)) => {
                    star = Some((at, reached + 1));
                    (p, t) = (at + 1, reached + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: Value, expected: Value) {
        let mut history = History::default();
        for (number, code) in [(1, "let a = 1"), (2, "a + 1"), (3, "let b = 2"), (4, "a + 1")] {
            history.push(number, code);
        }
        let request = serde_json::from_value(request).expect("a request");
        assert_eq!(history.reply(&request)["history"], expected);
    }

    #[test]
    fn inputs_are_found_again() {
        check(json!({ "hist_access_type": "tail", "n": 1 }), json!([[0, 4, "a + 1"]]));
        check(
            json!({ "hist_access_type": "range", "session": 0, "start": 1, "stop": 3, "output": true }),
            json!([[0, 1, ["let a = 1", null]], [0, 2, ["a + 1", null]]]),
        );
        check(
            json!({ "hist_access_type": "search", "pattern": "let*", "n": 9 }),
            json!([[0, 1, "let a = 1"], [0, 3, "let b = 2"]]),
        );
        check(
            json!({ "hist_access_type": "search", "pattern": "a ? 1", "unique": true }),
            json!([[0, 4, "a + 1"]]),
        );
        check(json!({ "hist_access_type": "range", "session": 7 }), json!([]));
    }
}
