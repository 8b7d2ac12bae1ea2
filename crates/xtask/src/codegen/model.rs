//! The grammar as data: token kinds, node structs with their fields, and enums of nodes.
//!
//! This module knows ungrammar and the names of punctuation. It does not know Rust's syntax.

use std::collections::{BTreeMap, BTreeSet};

use ungrammar::{Grammar, Rule};

/// Punctuation: its spelling, and the name of its kind, which its accessor has too.
const PUNCTUATION: &[(&str, &str)] = &[
    ("(", "L_PAREN"),
    (")", "R_PAREN"),
    ("[", "L_BRACK"),
    ("]", "R_BRACK"),
    ("{", "L_BRACE"),
    ("}", "R_BRACE"),
    ("<", "L_ANGLE"),
    (">", "R_ANGLE"),
    (",", "COMMA"),
    (";", "SEMICOLON"),
    (":", "COLON"),
    ("::", "COLON2"),
    (".", "DOT"),
    ("..", "DOT2"),
    ("->", "THIN_ARROW"),
    ("#", "POUND"),
    ("_", "UNDERSCORE"),
    ("|", "PIPE"),
    ("||", "PIPE2"),
    ("&&", "AMP2"),
    ("&", "AMP"),
    ("^", "CARET"),
    ("<<", "SHL"),
    (">>", "SHR"),
    ("~", "TILDE"),
    ("!", "BANG"),
    ("=", "EQ"),
    ("==", "EQ2"),
    ("!=", "NEQ"),
    ("<=", "LTEQ"),
    (">=", "GTEQ"),
    ("+", "PLUS"),
    ("-", "MINUS"),
    ("*", "STAR"),
    ("/", "SLASH"),
    ("%", "PERCENT"),
    ("@", "AT"),
    ("∘", "COMPOSE"),
    ("+=", "PLUSEQ"),
    ("-=", "MINUSEQ"),
    ("*=", "STAREQ"),
    ("/=", "SLASHEQ"),
    ("%=", "PERCENTEQ"),
    ("&=", "AMPEQ"),
    ("|=", "PIPEEQ"),
    ("^=", "CARETEQ"),
    ("<<=", "SHLEQ"),
    (">>=", "SHREQ"),
];

/// Contextual keywords: words that are keywords in one place each, and names elsewhere.
const CONTEXTUAL: &[&str] = &[
    "baseline",
    "blocks_per_sm",
    "bytes",
    "cluster",
    "consumer",
    "each",
    "flops",
    "forall",
    "global",
    "grid",
    "measure",
    "pipelined",
    "producer",
    "register",
    "registers",
    "shared",
    "step",
    "threads",
    "tune",
];

/// Token classes: the name in the grammar, and the name of the kind.
const CLASSES: &[(&str, &str)] = &[
    ("ident", "IDENT"),
    ("int_number", "INT_NUMBER"),
    ("float_number", "FLOAT_NUMBER"),
    ("string", "STRING"),
];

/// Accessors that `ext.rs` has by hand. `start` and `end` have one type, so if one is missing, the index among the children does
/// not tell which one is there.
const BY_HAND: &[(&str, &str)] = &[("RangeExpr", "start"), ("RangeExpr", "end")];

/// A token: its spelling, and the name of its kind.
pub(super) struct Token {
    pub(super) text: String,
    pub(super) kind: String,
}

/// A node of the grammar that becomes a struct.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
}

/// An enum whose variants are nodes or other enums.
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) variants: Vec<String>,
}

pub(super) enum Field {
    Token { name: String, kind: String },
    One { name: String, ty: String, nth: usize },
    Many { name: String, ty: String },
}

pub(super) struct Model {
    pub(super) punctuation: Vec<Token>,
    pub(super) keywords: Vec<Token>,
    pub(super) contextual: Vec<Token>,
    pub(super) classes: Vec<Token>,
    pub(super) nodes: Vec<Node>,
    pub(super) enums: Vec<Enum>,
}

impl Model {
    pub(super) fn read(text: &str) -> Result<Model, String> {
        let grammar: Grammar = text.parse().map_err(|error| format!("grammar: {error}"))?;
        let kinds = token_kinds(&grammar)?;
        let mut nodes = Vec::new();
        let mut enums = Vec::new();
        for node in grammar.iter() {
            let data = &grammar[node];
            match enum_variants(&grammar, &data.rule) {
                Some(variants) => enums.push(Enum { name: data.name.clone(), variants }),
                None => nodes.push(Node { name: data.name.clone(), fields: fields(&grammar, &kinds, data) }),
            }
        }
        let used = |texts: &mut dyn Iterator<Item = (&str, String)>| -> Vec<Token> {
            texts.map(|(text, kind)| Token { text: text.to_owned(), kind }).collect()
        };
        let contextual: BTreeSet<&str> = CONTEXTUAL.iter().copied().collect();
        let words = || kinds.iter().filter(|(text, _)| is_word(text) && !is_class(text));
        Ok(Model {
            punctuation: used(&mut PUNCTUATION.iter().map(|&(text, kind)| (text, kind.to_owned()))),
            keywords: used(
                &mut words()
                    .filter(|(t, _)| !contextual.contains(t.as_str()))
                    .map(|(t, k)| (t.as_str(), k.clone())),
            ),
            contextual: used(
                &mut words()
                    .filter(|(t, _)| contextual.contains(t.as_str()))
                    .map(|(t, k)| (t.as_str(), k.clone())),
            ),
            classes: used(&mut CLASSES.iter().map(|&(text, kind)| (text, kind.to_owned()))),
            nodes,
            enums,
        })
    }
}

fn is_word(text: &str) -> bool {
    text != "_" && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

fn is_class(text: &str) -> bool {
    CLASSES.iter().any(|&(class, _)| class == text)
}

/// Returns the kind of every token of the grammar, by spelling.
fn token_kinds(grammar: &Grammar) -> Result<BTreeMap<String, String>, String> {
    let mut kinds = BTreeMap::new();
    for token in grammar.tokens() {
        let text = grammar[token].name.as_str();
        let fixed = PUNCTUATION.iter().chain(CLASSES).find(|&&(spelling, _)| spelling == text);
        let kind = match fixed {
            Some(&(_, kind)) => kind.to_owned(),
            None if is_word(text) => format!("{}_KW", text.to_uppercase()),
            None => return Err(format!("grammar: token `{text}` has no name in PUNCTUATION")),
        };
        kinds.insert(text.to_owned(), kind);
    }
    Ok(kinds)
}

/// Returns the names of the alternatives, if every alternative of the rule is a node; `None` for a rule that becomes a struct.
fn enum_variants(grammar: &Grammar, rule: &Rule) -> Option<Vec<String>> {
    let Rule::Alt(alternatives) = rule else { return None };
    alternatives
        .iter()
        .map(|alternative| match alternative {
            Rule::Node(node) => Some(grammar[*node].name.clone()),
            _ => None,
        })
        .collect()
}

fn fields(grammar: &Grammar, kinds: &BTreeMap<String, String>, node: &ungrammar::NodeData) -> Vec<Field> {
    let mut collector = Collector { grammar, kinds, fields: Vec::new(), ones: BTreeMap::new() };
    collector.rule(&node.rule, None);
    collector
        .fields
        .retain(|field| !matches!(field, Field::One { name, .. } if BY_HAND.contains(&(&node.name, name))));
    collector.fields
}

struct Collector<'a> {
    grammar: &'a Grammar,
    kinds: &'a BTreeMap<String, String>,
    fields: Vec<Field>,
    /// For each type, the number of single children seen so far, which is the index of the next one.
    ones: BTreeMap<String, usize>,
}

impl Collector<'_> {
    fn rule(&mut self, rule: &Rule, label: Option<&str>) {
        if let Some(ty) = self.repeated(rule) {
            let name = label.map_or_else(|| plural(&ty), str::to_owned);
            self.fields.push(Field::Many { name, ty });
            return;
        }
        match rule {
            Rule::Labeled { label, rule } => self.rule(rule, Some(label)),
            Rule::Node(node) => {
                let ty = self.grammar[*node].name.clone();
                let name = label.map_or_else(|| snake(&ty), str::to_owned);
                let nth = self.ones.entry(ty.clone()).or_default();
                self.fields.push(Field::One { name, ty, nth: *nth });
                *nth += 1;
            }
            Rule::Token(token) => self.token(&self.grammar[*token].name, label),
            Rule::Seq(rules) => rules.iter().for_each(|rule| self.rule(rule, None)),
            Rule::Opt(rule) => self.rule(rule, label),
            // Make no accessors for alternative tokens: `op_kind` and `kind`, written by hand, tell which token is present.
            Rule::Alt(rules) => {
                for rule in rules {
                    if matches!(rule, Rule::Node(_)) {
                        self.rule(rule, None);
                    }
                }
            }
            Rule::Rep(_) => {}
        }
    }

    fn token(&mut self, text: &str, label: Option<&str>) {
        let kind = self.kinds[text].clone();
        let stem = label.map_or_else(|| kind.trim_end_matches("_KW").to_lowercase(), str::to_owned);
        let name = format!("{stem}_token");
        let known = |field: &Field| matches!(field, Field::Token { name: other, .. } if *other == name);
        if text != "," && !self.fields.iter().any(known) {
            self.fields.push(Field::Token { name, kind });
        }
    }

    /// Returns the type of the repeated children for `X*` and `X (',' X)* ','?`; `None` for other rules.
    fn repeated(&self, rule: &Rule) -> Option<String> {
        match rule {
            Rule::Rep(inner) => match &**inner {
                Rule::Node(node) => Some(self.grammar[*node].name.clone()),
                _ => None,
            },
            Rule::Opt(inner) => match &**inner {
                Rule::Seq(_) => self.repeated(inner),
                _ => None,
            },
            Rule::Seq(rules) => match rules.as_slice() {
                [Rule::Node(node), Rule::Rep(rest), ..] => match &**rest {
                    Rule::Seq(pair) if matches!(&pair[..], [Rule::Token(_), Rule::Node(n)] if n == node) => {
                        Some(self.grammar[*node].name.clone())
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }
}

/// Converts `WhereClause` to `where_clause`.
pub(super) fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn plural(name: &str) -> String {
    format!("{}s", snake(name))
}
