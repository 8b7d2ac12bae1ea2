//! Keywords and snippets as data: a label, the inserted text in the protocol's notation, and one line of description.

pub(super) const TOP_SNIPPETS: &[(&str, &str, &str)] = &[
    (
        "kernel",
        "kernel ${1:name}<BM = ${2:64}>(${3:a: f16[m, k]})\n    grid [cdiv(m, BM)]\n    threads ${4:128}\n{\n    let [bm] = block_idx;\n    $0\n}",
        "a kernel",
    ),
    ("fn", "fn ${1:name}(${2:x: f32}) -> ${3:f32} {\n    $0\n}", "a tile function"),
    ("test", "test \"${1:name}\" for (${2:m, n}) in [(${3:64, 64})] {\n    $0\n}", "a test with cases"),
    (
        "test forall",
        "test \"${1:name}\" forall ${2:m} in ${3:1..=300} {\n    $0\n}",
        "a test over drawn values, which shrinks a failure to the smallest",
    ),
    (
        "bench",
        "bench \"${1:name}\" {\n    measure flops ${2:2 * m * n * k} { $0 }\n}",
        "a bench that counts its work",
    ),
    ("main", "main {\n    $0\n}", "what `hx run` executes"),
    ("const", "const ${1:NAME} = ${0:1};", "a constant"),
    ("use", "use ${0:std::};", "names of another file"),
];

/// The attribute of a function that is PTX.
pub(super) const PTX_SNIPPET: (&str, &str, &str) = (
    "ptx",
    "ptx(\"${1:rcp.approx.f32} {result}, {${2:x}};\")",
    "the function is this PTX, and its body the meaning",
);

pub(super) const BODY_SNIPPETS: &[(&str, &str, &str)] = &[
    ("let", "let ${1:x} = ${0};", "a name for a value"),
    ("for", "for ${1:ki} in ${2:0..n} {\n    $0\n}", "a loop"),
    ("while", "while ${1:condition} {\n    $0\n}", "a loop as long as something holds"),
    ("if", "if ${1:condition} {\n    $0\n}", "a choice of the block"),
];

pub(super) const DEVICE_SNIPPETS: &[(&str, &str, &str)] = &[
    ("register_tensor", "let ${1:r} = register_tensor(${2:f32}, [${3:BM, BN}]);$0", "a tensor in registers"),
    ("shared_tensor", "let ${1:s} = shared_tensor(${2:f16}, [${3:BM, BN}]);$0", "a tensor in shared memory"),
];

pub(super) const HOST_SNIPPETS: &[(&str, &str, &str)] = &[
    ("measure", "measure ${1|flops,bytes|} ${2:work} { $0 }", "what a bench times"),
    ("baseline", "baseline ${0:call}", "what a bench is compared with"),
];

pub(super) const WORDS: &[&str] = &["else", "new", "true", "false", "inf", "where"];
pub(super) const TYPE_WORDS: &[&str] = &["mut", "shared", "register", "global"];
pub(super) const HEADER_WORDS: &[&str] = &["where", "grid", "threads", "cluster", "blocks_per_sm"];
