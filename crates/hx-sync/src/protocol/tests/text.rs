//! Reads a protocol from text.

use std::collections::BTreeMap;

use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_tile::{OpId, TensorId};

use super::super::program::Multicast;
use super::super::reach::Reach;
use super::super::{
    Act, Drawn, Launchable, NamedBarrier, Operands, Pipe, Place, Protocol, Role, Stmt, Turns,
};

pub(in crate::protocol) struct Parsed {
    pub(in crate::protocol) protocol: Protocol,
    pub(in crate::protocol) launchable: Launchable,
    pub(in crate::protocol) lines: Vec<String>,
}

/// Returns the number of scopes that fill each stage of a pipe together; 1 if one of them leaves stages to others.
fn fillers(protocol: &Protocol, pipe: u32) -> u32 {
    let mut scopes = 0;
    for role in &protocol.roles {
        let (mut acquires, mut skips) = (false, false);
        let alone = Protocol { roles: vec![role.clone()], ..Protocol::default() };
        alone.visit(&mut |stmt| match stmt {
            Stmt::Act(_, Act::Acquire { pipe: of, .. }) => acquires |= *of == pipe,
            Stmt::Act(_, Act::Skip { pipe: of, .. }) => skips |= *of == pipe,
            _ => {}
        });
        if acquires && skips {
            return 1;
        }
        scopes += if acquires && role.each { role.groups } else { u32::from(acquires) };
    }
    scopes.max(1)
}

pub(in crate::protocol) fn parse(text: &str) -> Parsed {
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
    let mut reader =
        Reader { lines: &lines, at: 0, protocol: Protocol::default(), names: Vec::new(), drawn: Vec::new() };
    let mut cluster = vec![1];
    while reader.at < lines.len() {
        let line = lines[reader.at].clone();
        reader.at += 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize, or: u32| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(or);
        match words.as_slice() {
            [] => {}
            ["pipe", name, stages, ..] => {
                let stages = stages.parse().expect("a number of stages");
                let readers = number(4, 0);
                let name = (*name).into();
                reader.protocol.pipes.push(Pipe { name, stages, readers, fillers: 1, by_groups: false });
            }
            ["counter", name, limit] => {
                let limit = reader.expr(limit);
                reader.drawn.push(((*name).to_owned(), Drawn::new(name, limit, cluster.iter().product())));
            }
            ["barrier", name] => {
                reader.protocol.barriers.push(NamedBarrier { name: (*name).into(), groups: Vec::new() });
            }
            ["turns", name] => reader.protocol.turns.push(Turns { name: (*name).into() }),
            ["cluster", blocks @ ..] => {
                cluster = blocks.iter().map(|blocks| blocks.parse().expect("a number of blocks")).collect();
            }
            ["block", ..] => {
                reader.protocol.groups = number(1, 1);
                reader.protocol.body = reader.body();
            }
            [kind @ ("role" | "each"), name, ..] => {
                let groups = number(2, 1);
                let first = reader.protocol.roles.iter().map(|role| role.groups).sum();
                let each = *kind == "each";
                let index = each.then(|| Symbol::Var(words[3].into(), 0));
                reader.names.extend(index.clone().map(|index| (words[3].to_owned(), index)));
                let body = reader.body();
                reader.names.clear();
                reader.protocol.roles.push(Role {
                    name: (*name).into(),
                    threads: None,
                    first,
                    groups,
                    each,
                    index,
                    body,
                });
            }
            _ => panic!("a declaration: {line}"),
        }
    }
    for pipe in 0..reader.protocol.pipes.len() {
        reader.protocol.pipes[pipe].fillers = fillers(&reader.protocol, pipe as u32);
    }
    let drawn = reader.drawn.into_iter().map(|(_, drawn)| drawn).collect();
    let mut protocol = reader.protocol;
    let of_roles = protocol.roles.iter().map(|role| role.groups).sum::<u32>();
    protocol.groups = protocol.groups.max(of_roles).max(1);
    // Without a number, all groups of the roles that wait give back a stage.
    let waits = |body: &[Stmt], pipe: u32| {
        let probe = Protocol { body: body.to_vec(), ..Protocol::default() };
        let mut waits = false;
        probe.visit(&mut |stmt| {
            waits |= matches!(stmt, Stmt::Act(_, Act::Wait { pipe: p, .. }) if *p == pipe);
        });
        waits
    };
    for at in 0..protocol.barriers.len() {
        let comes = |group: &u32| {
            let mut comes = false;
            protocol.visit_group(*group, &mut |stmt| {
                comes |= matches!(stmt, Stmt::Act(_, Act::Come { barrier, .. }) if *barrier == at as u32);
            });
            comes
        };
        protocol.barriers[at].groups = (0..protocol.groups).filter(comes).collect();
    }
    for at in 0..protocol.pipes.len() {
        if protocol.pipes[at].readers == 0 {
            let roles = protocol.roles.iter().filter(|role| waits(&role.body, at as u32));
            let own = if waits(&protocol.body, at as u32) { protocol.groups } else { 0 };
            protocol.pipes[at].readers = roles.map(|role| role.groups).sum::<u32>() + own;
        }
    }
    let launchable = Launchable {
        facts: Facts::default(),
        grid: cluster.iter().map(|blocks| Expr::constant(*blocks)).collect(),
        cluster,
        drawn,
        ..Launchable::default()
    };
    Parsed { protocol, launchable, lines }
}

struct Reader<'a> {
    lines: &'a [String],
    at: usize,
    protocol: Protocol,
    /// Counters and indices of groups.
    names: Vec<(String, Symbol)>,
    drawn: Vec<(String, Drawn)>,
}

impl Reader<'_> {
    /// Reads statements up to the closing brace.
    fn body(&mut self) -> Vec<Stmt> {
        let (mut body, depth) = (Vec::new(), self.names.len());
        loop {
            let line = self.lines[self.at].clone();
            self.at += 1;
            let op = OpId(self.at as u32);
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match word {
                "" => {}
                "}" => {
                    self.at -= usize::from(!rest.is_empty());
                    break;
                }
                "for" if rest.contains(" from ") => {
                    let (name, counter) = rest.trim_end_matches(" {").split_once(" from ").expect("a loop");
                    let var = Symbol::Var(name.into(), op.0);
                    self.names.push((name.to_owned(), var.clone()));
                    let inner = self.body();
                    self.names.pop();
                    let (_, drawn) = self.drawn.iter().find(|(name, _)| name == counter).expect("a counter");
                    body.push(drawn.repeat(&var, inner));
                }
                "for" => {
                    let (name, count) = rest.split_once(" in ").expect("a loop");
                    let end = self.expr(count.trim_end_matches('{'));
                    let var = Symbol::Var(name.into(), op.0);
                    self.names.push((name.to_owned(), var.clone()));
                    let inner = self.body();
                    self.names.pop();
                    body.push(Stmt::For { var, start: Expr::constant(0), end, body: inner });
                }
                "if" => {
                    let (a, b) = rest.trim_end_matches('{').split_once('<').expect("a comparison");
                    let cond = Cond::Cmp(CmpOp::Lt, self.expr(a), self.expr(b));
                    let then = self.body();
                    let other = self.lines.get(self.at).is_some_and(|line| line == "} else {");
                    self.at += usize::from(other);
                    let otherwise = if other { self.body() } else { Vec::new() };
                    body.push(Stmt::If { cond, then, otherwise });
                }
                _ => body.push(Stmt::Act(op, self.act(word, rest))),
            }
        }
        self.names.truncate(depth);
        body
    }

    fn act(&mut self, word: &str, rest: &str) -> Act {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let leave = || words[0].parse().expect("a number");
        match word {
            "acquire" => Act::Acquire { pipe: self.pipe(rest), var: Some(self.stage(rest)) },
            "publish" => Act::Publish { pipe: self.pipe(rest) },
            "wait" => Act::Wait { pipe: self.pipe(rest), var: Some(self.stage(rest)) },
            "release" => Act::Release { pipe: self.pipe(rest), keep: 0 },
            "release_previous" => Act::Release { pipe: self.pipe(rest), keep: 1 },
            "skip" => Act::Skip { pipe: self.pipe(words[0]), count: self.expr(&words[1..].join(" ")) },
            "fill" => {
                let (place, words) =
                    rest.split_once("] ").map_or((words[0], words.clone()), |(place, rest)| {
                        (place, std::iter::once("").chain(rest.split_whitespace()).collect())
                    });
                let source = words.get(3).map(|source| self.expr(source));
                let axis = words.get(5).map_or(0, |axis| axis.parse().expect("an axis"));
                Act::Fill {
                    pipe: self.pipe_of(place),
                    into: Some(self.place(place)),
                    bytes: words[1].parse().expect("bytes"),
                    multicast: source.map(|source| Multicast { axis, source: vec![source] }),
                }
            }
            "copy" => Act::Copy { into: self.place(rest) },
            "commit" => Act::Commit,
            "wait_copies" => Act::WaitCopies { leave: leave() },
            "read" => Act::Access { place: self.place(rest), write: false },
            "write" => Act::Access { place: self.place(rest), write: true },
            "use" => Act::Touch { tensor: tensor(rest), write: false },
            "set" => Act::Touch { tensor: tensor(rest), write: true },
            "gemm" | "gemm_async" => {
                let operands: Vec<&str> = rest.split(", ").collect();
                let (registers, shared): (Vec<&str>, Vec<&str>) =
                    operands[1..].iter().partition(|operand| operand.starts_with('%'));
                Act::Multiply(Operands {
                    c: tensor(operands[0]),
                    registers: registers.into_iter().map(tensor).collect(),
                    shared: shared.into_iter().map(|place| self.place(place)).collect(),
                    asynchronous: word == "gemm_async",
                })
            }
            "gemm_wait" => Act::WaitProducts { leave: leave() },
            "store" => Act::Store { from: Some(self.place(rest)), to: None, adds: false },
            "wait_stores" => Act::WaitStores { leave: leave(), read: true },
            "take" => Act::Take { turns: self.turns(rest) },
            "pass" => Act::Pass { turns: self.turns(rest) },
            "sync" if !rest.is_empty() => Act::Come { barrier: self.barrier(rest), waits: true },
            "arrive" => Act::Come { barrier: self.barrier(rest), waits: false },
            "sync" => Act::Sync,
            "sum_along" => Act::Meet { axis: rest.parse().expect("an axis") },
            "sync_cluster" => Act::SyncCluster,
            _ => panic!("a statement: {word} {rest}"),
        }
    }

    fn pipe(&self, name: &str) -> u32 {
        let at = self.protocol.pipes.iter().position(|pipe| pipe.name == name);
        at.unwrap_or_else(|| panic!("the pipe {name}")) as u32
    }

    /// Returns the pipe whose stage a place names, or the only one.
    fn pipe_of(&self, place: &str) -> u32 {
        let index = place.split_once('[').map_or("", |(_, index)| index.trim_end_matches(']'));
        self.protocol.pipes.iter().position(|pipe| pipe.name == index).unwrap_or(0) as u32
    }

    fn barrier(&self, name: &str) -> u32 {
        self.protocol.barriers.iter().position(|barrier| barrier.name == name).expect("a barrier") as u32
    }

    fn turns(&self, name: &str) -> u32 {
        self.protocol.turns.iter().position(|turns| turns.name == name).expect("turns") as u32
    }

    fn stage(&self, pipe: &str) -> Symbol {
        Symbol::Var(pipe.into(), 0)
    }

    fn place(&self, text: &str) -> Place {
        let (name, range) = match text.split_once('[') {
            None => (text, (Expr::constant(0), Reach::Run(1 << 20))),
            Some((name, index)) => {
                let index = index.trim_end_matches(']');
                let stage = self.protocol.pipes.iter().any(|pipe| pipe.name == index);
                let index = if stage { Expr::symbol(self.stage(index)) } else { self.expr(index) };
                (name, (index, Reach::Run(1)))
            }
        };
        Place { tensor: tensor(name), ranges: vec![range], own: name.starts_with('.') }
    }

    /// Reads `+ -` over `* / %` over names and numbers, without parentheses but for one pair around all of a sum.
    fn expr(&self, text: &str) -> Expr {
        let text = text.trim();
        if let Some(inner) = text.strip_prefix('(')
            && let Some((sum, rest)) = inner.rsplit_once(')')
            && let Some((operator, factor)) = rest.trim().split_once(' ')
        {
            return apply(operator, self.expr(sum), self.expr(factor));
        }
        for operators in [["+", "-", "-"], ["*", "/", "%"]] {
            let at = text.char_indices().rev().find(|(_, c)| operators.contains(&c.to_string().as_str()));
            if let Some((at, c)) = at {
                return apply(&c.to_string(), self.expr(&text[..at]), self.expr(&text[at + 1..]));
            }
        }
        match text.parse::<i64>() {
            Ok(number) => Expr::constant(number),
            Err(_) if text == "block" => Expr::symbol(Symbol::BlockIdx(0)),
            Err(_) => {
                let local = self.names.iter().rev().find(|(name, _)| name == text);
                Expr::symbol(local.map_or_else(|| Symbol::Dim(text.into()), |(_, symbol)| symbol.clone()))
            }
        }
    }
}

fn apply(operator: &str, a: Expr, b: Expr) -> Expr {
    let facts = Facts::default();
    match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a.div(&b, &facts),
        "%" => a.rem(&b, &facts),
        _ => panic!("an operator: {operator}"),
    }
}

/// Numbers tensors by their names.
fn tensor(name: &str) -> TensorId {
    let bytes = name.trim_start_matches('%').bytes();
    TensorId(bytes.fold(0, |number, byte| number * 37 % 1_000_003 + u32::from(byte)))
}

/// The numbers of names differ, as far as the tests use them.
#[test]
fn names_have_numbers_of_their_own() {
    let names = ["sa", "sb", "sc", "acc", "p", "x", "s", "sk", "sv", "sq", ".sc", "a", "b", "c"];
    let numbers: BTreeMap<TensorId, &str> = names.iter().map(|name| (tensor(name), *name)).collect();
    assert_eq!(numbers.len(), names.len());
}
