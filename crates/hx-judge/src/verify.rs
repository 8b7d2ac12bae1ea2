//! The `check` words: the conditions that an answer must meet.

use std::collections::BTreeSet;

use hx_layout::{IntTuple, Layout};
use serde_json::{Map, Value};

use crate::Case;

type Fields = Map<String, Value>;

/// The largest number of evaluations for judging one answer.
const LIMIT: i64 = 1 << 22;

/// Checks that `answer` meets every word of the case's `check`; `out` holds the expected fields.
pub(super) fn meets(case: &Case, out: &Fields, answer: &Fields) -> Result<(), String> {
    for word in &case.check {
        let judge = Judge { case, out, answer };
        judge.word(word).map_err(|fault| format!("{word}: {fault}"))?;
    }
    Ok(())
}

/// An answer and a set of expected fields.
pub(super) struct Judge<'a> {
    pub(super) case: &'a Case,
    pub(super) out: &'a Fields,
    pub(super) answer: &'a Fields,
}

impl Judge<'_> {
    fn word(&self, word: &str) -> Result<(), String> {
        if let Some(result) = crate::verify_linear::word(self, word) {
            return result;
        }
        match word {
            "value" => self.same_fields(self.out.keys().map(String::as_str)),
            "offset" => self.same_fields(["offset"]),
            "text" => self.same_fields(["layout", "shape", "stride"]),
            "table" => self.table(),
            "isl" => crate::relations::same(self),
            "profile" => self.profile(),
            "rank" => self.rank(),
            "depth" => self.depth(),
            "exact" => self.exact(),
            "complement" => self.complement(),
            "right_inverse" => self.right_inverse(),
            "left_inverse" => self.left_inverse(|_, c, back| back == c),
            "quasi_inverse" => self.left_inverse(|a, c, back| back >= 0 && a.try_eval(back) == Ok(a.eval(c))),
            "nullspace" => self.nullspace(),
            "max_common" => self.max_common(),
            _ => Err("this word is not known".to_string()),
        }
    }

    pub(super) fn same_fields<'b>(&self, names: impl IntoIterator<Item = &'b str>) -> Result<(), String> {
        for name in names {
            let (want, got) = (self.out.get(name), self.answer.get(name));
            if want != got {
                let show = |v: Option<&Value>| v.map_or("nothing".to_string(), Value::to_string);
                return Err(format!("`{name}` is {}, {} was expected", show(got), show(want)));
            }
        }
        Ok(())
    }

    fn layout(&self) -> Result<Layout, String> {
        let text = self.answer.get("layout").and_then(Value::as_str).ok_or("the answer has no layout")?;
        text.parse().map_err(|e| format!("`{text}`: {e}"))
    }

    fn input(&self, name: &str) -> Result<Layout, String> {
        let text = self.case.input.get(name).and_then(Value::as_str).ok_or("an input is missing")?;
        text.parse().map_err(|e| format!("`{text}`: {e}"))
    }

    fn number(&self, name: &str) -> Result<i64, String> {
        self.out.get(name).and_then(Value::as_i64).ok_or_else(|| format!("the case has no `{name}`"))
    }

    /// Checks the size, and the table or samples. They come from the answer's layout if there is one, else from its table.
    fn table(&self) -> Result<(), String> {
        let want_table = self.out.get("table").and_then(Value::as_array);
        let got_table = self.answer.get("table").and_then(Value::as_array);
        let layout = if self.answer.contains_key("layout") { Some(self.layout()?) } else { None };
        let size = layout.as_ref().map(Layout::size).or(got_table.map(|t| t.len() as i64));
        let size =
            size.or(self.answer.get("size").and_then(Value::as_i64)).ok_or("the answer has no size")?;
        let want_size =
            self.number("size").or(want_table.map(|t| t.len() as i64).ok_or("the case has no size"))?;
        if size != want_size {
            return Err(format!("the size is {size}, {want_size} was expected"));
        }
        let at = |c: i64| match &layout {
            Some(layout) => Some(layout.eval(c)),
            None => got_table.and_then(|t| t.get(c as usize)?.as_i64()).or_else(|| self.sample(c)),
        };
        let pairs: Vec<(i64, Option<i64>)> =
            match (want_table, self.out.get("samples").and_then(Value::as_array)) {
                (Some(table), _) => (0..).zip(table.iter().map(Value::as_i64)).collect(),
                (None, Some(list)) => {
                    list.iter().filter_map(|p| Some((p.get(0)?.as_i64()?, p.get(1)?.as_i64()))).collect()
                }
                _ => return Err("the case has neither table nor samples".to_string()),
            };
        for (c, want) in pairs {
            let got = if (0..size).contains(&c) { at(c) } else { None };
            if got != want || want.is_none() {
                return Err(format!("at {c} the index is {got:?}, {want:?} was expected"));
            }
        }
        Ok(())
    }

    fn sample(&self, c: i64) -> Option<i64> {
        let list = self.answer.get("samples")?.as_array()?;
        list.iter().find(|pair| pair.get(0).and_then(Value::as_i64) == Some(c))?.get(1)?.as_i64()
    }

    fn wanted_profile(&self) -> Result<IntTuple, String> {
        let text = self.out.get("profile").or(self.case.input.get("profile")).and_then(Value::as_str);
        text.ok_or("the case has no profile")?.parse().map_err(|e| format!("the profile: {e}"))
    }

    fn profile(&self) -> Result<(), String> {
        let (profile, layout) = (self.wanted_profile()?, self.layout()?);
        if profile.compatible(layout.shape()) {
            return Ok(());
        }
        Err(format!("the shape {} does not refine {profile}", layout.shape()))
    }

    fn rank(&self) -> Result<(), String> {
        let (want, got) = (self.number("rank")?, self.layout()?.rank() as i64);
        if want == got { Ok(()) } else { Err(format!("the rank is {got}, {want} was expected")) }
    }

    fn depth(&self) -> Result<(), String> {
        let (most, got) = (self.number("max_depth")?, self.layout()?.depth() as i64);
        if got <= most { Ok(()) } else { Err(format!("the depth is {got}, at most {most} was expected")) }
    }

    /// Checks that each part below the profile is coalesced. The marks are those of the input if it has a profile.
    fn exact(&self) -> Result<(), String> {
        let marks = match self.case.input.get("profile").and_then(Value::as_str) {
            Some(text) => text.parse().map_err(|e| format!("the profile: {e}"))?,
            None => self.wanted_profile()?,
        };
        exact_below(&self.layout()?, &marks)
    }

    /// Checks that the layout increases and that its sums with the indices of `a` reach every integer below the target once.
    fn complement(&self) -> Result<(), String> {
        let (a, r) = (self.input("a")?, self.layout()?);
        let cotarget = self.case.input.get("cotarget").and_then(Value::as_i64).ok_or("no cotarget")?;
        let filled = a
            .leaves()
            .iter()
            .filter(|m| m.0 > 1 && m.1 != 0)
            .map(|&(s, d)| s.saturating_mul(d))
            .max()
            .unwrap_or(1);
        let target = ((cotarget - 1) / filled * filled).saturating_add(filled);
        let a = a.filter();
        if target > LIMIT || a.size().saturating_mul(r.size()) > LIMIT {
            return Ok(());
        }
        let starts: Vec<i64> = r.table().collect();
        if starts.windows(2).any(|w| w[0] >= w[1]) {
            return Err("it is not increasing".to_string());
        }
        let mut reached = vec![false; target as usize];
        for start in starts {
            for x in a.table() {
                match reached.get_mut((x + start) as usize) {
                    Some(seen) if !*seen => *seen = true,
                    Some(_) => return Err(format!("{} is reached twice", x + start)),
                    None => return Err(format!("{} is beyond {target}", x + start)),
                }
            }
        }
        match reached.iter().position(|seen| !seen) {
            None => Ok(()),
            Some(i) => Err(format!("{i} is not reached")),
        }
    }

    fn right_inverse(&self) -> Result<(), String> {
        let (a, r) = (self.input("a")?, self.layout()?);
        let least = self.number("min_size")?;
        if r.size() < least {
            return Err(format!("the size is {}, at least {least} was expected", r.size()));
        }
        undoes(&a, &r)
    }

    fn left_inverse(&self, right: fn(&Layout, i64, i64) -> bool) -> Result<(), String> {
        let (a, r) = (self.input("a")?, self.layout()?);
        for c in 0..a.size().min(LIMIT) {
            let back = r.try_eval(a.eval(c)).map_err(|e| e.to_string())?;
            if !right(&a, c, back) {
                return Err(format!("{c} goes to {} and back to {back}", a.eval(c)));
            }
        }
        Ok(())
    }

    fn nullspace(&self) -> Result<(), String> {
        let (a, r) = (self.input("a")?, self.layout()?);
        let zero: i64 = a.leaves().iter().filter(|m| m.1 == 0).map(|m| m.0).product();
        if r.size() != zero {
            return Err(format!("the size is {}, {zero} was expected", r.size()));
        }
        let mut seen = BTreeSet::new();
        for c in r.table().take(LIMIT as usize) {
            if !seen.insert(c) {
                return Err(format!("{c} occurs twice"));
            }
            if !(0..a.size()).contains(&c) || a.eval(c) != 0 {
                return Err(format!("{c} does not go to 0"));
            }
        }
        Ok(())
    }

    fn max_common(&self) -> Result<(), String> {
        let r = self.layout()?;
        let least = self.number("min_size").or(self.number("size"))?;
        if r.size() < least {
            return Err(format!("the size is {}, at least {least} was expected", r.size()));
        }
        undoes(&self.input("a")?, &r)?;
        undoes(&self.input("b")?, &r)
    }
}

/// Checks that *a(R(i)) = i* everywhere.
fn undoes(a: &Layout, r: &Layout) -> Result<(), String> {
    for i in 0..r.size().min(LIMIT) {
        let c = r.eval(i);
        if !(0..a.size()).contains(&c) || a.eval(c) != i {
            return Err(format!("{i} goes to {c}, which does not come back"));
        }
    }
    Ok(())
}

/// Reports whether a flat layout has the fewest modes: none for a size of 1.
fn is_coalesced(layout: &Layout) -> bool {
    if layout.size() == 1 {
        layout.leaves().is_empty()
    } else {
        layout.coalesce().leaves() == layout.leaves()
    }
}

fn exact_below(layout: &Layout, marks: &IntTuple) -> Result<(), String> {
    let IntTuple::Tuple(entries) = marks else {
        let unit = layout.size() == 1 && layout.rank() == 1 && layout.depth() == 0;
        let flat = layout.depth() <= 1 && is_coalesced(layout);
        return if unit || flat { Ok(()) } else { Err(format!("`{layout}` is not coalesced")) };
    };
    if entries.len() > layout.rank() {
        return Err(format!("`{layout}` has too few modes"));
    }
    entries.iter().enumerate().try_for_each(|(i, mark)| exact_below(&layout.mode(i), mark))
}
