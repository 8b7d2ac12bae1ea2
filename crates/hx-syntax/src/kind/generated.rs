// Written by `cargo xtask codegen` from grammar/hx.ungram. Do not edit.

/// The kind of a node or a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(non_camel_case_types, missing_docs)]
#[repr(u16)]
pub enum SyntaxKind {
    EOF,
    ERROR,
    WHITESPACE,
    COMMENT,
    L_PAREN,
    R_PAREN,
    L_BRACK,
    R_BRACK,
    L_BRACE,
    R_BRACE,
    L_ANGLE,
    R_ANGLE,
    COMMA,
    SEMICOLON,
    COLON,
    COLON2,
    DOT,
    DOT2,
    THIN_ARROW,
    POUND,
    UNDERSCORE,
    PIPE,
    PIPE2,
    AMP2,
    AMP,
    CARET,
    SHL,
    SHR,
    TILDE,
    BANG,
    EQ,
    EQ2,
    NEQ,
    LTEQ,
    GTEQ,
    PLUS,
    MINUS,
    STAR,
    SLASH,
    PERCENT,
    AT,
    COMPOSE,
    PLUSEQ,
    MINUSEQ,
    STAREQ,
    SLASHEQ,
    PERCENTEQ,
    AMPEQ,
    PIPEEQ,
    CARETEQ,
    SHLEQ,
    SHREQ,
    AS_KW,
    BENCH_KW,
    CONST_KW,
    ELSE_KW,
    FALSE_KW,
    FN_KW,
    FOR_KW,
    IF_KW,
    IN_KW,
    INF_KW,
    KERNEL_KW,
    LET_KW,
    MAIN_KW,
    MUT_KW,
    NEW_KW,
    TEST_KW,
    TRUE_KW,
    USE_KW,
    WARP_GROUPS_KW,
    WHERE_KW,
    WHILE_KW,
    BASELINE_KW,
    BLOCKS_PER_SM_KW,
    BYTES_KW,
    CLUSTER_KW,
    CONSUMER_KW,
    EACH_KW,
    FLOPS_KW,
    FORALL_KW,
    GLOBAL_KW,
    GRID_KW,
    MEASURE_KW,
    PIPELINED_KW,
    PRODUCER_KW,
    REGISTER_KW,
    REGISTERS_KW,
    SHARED_KW,
    STEP_KW,
    THREADS_KW,
    TUNE_KW,
    IDENT,
    INT_NUMBER,
    FLOAT_NUMBER,
    STRING,
    SOURCE_FILE,
    CELL,
    USE,
    CONST,
    FN,
    KERNEL,
    TEST,
    BENCH,
    MAIN,
    ATTR,
    USE_TREE,
    PATH,
    USE_TREE_LIST,
    RENAME,
    NAME,
    GENERIC_PARAM_LIST,
    PARAM_LIST,
    RET_TYPE,
    WHERE_CLAUSE,
    BLOCK,
    TUNE_CLAUSE,
    GRID_CLAUSE,
    THREADS_CLAUSE,
    CLUSTER_CLAUSE,
    RESIDENCY_CLAUSE,
    CASE_CLAUSE,
    FORALL_CLAUSE,
    FORALL_VARIABLE,
    ARG_LIST,
    GENERIC_PARAM,
    PARAM,
    TUNE_AXIS,
    NAME_REF,
    TUNE_STEP,
    NAMED_TYPE,
    TUPLE_TYPE,
    FN_TYPE,
    SHAPE,
    LAYOUT_ANNOTATION,
    LET_STMT,
    ASSIGN_STMT,
    EXPR_STMT,
    FOR_STMT,
    WHILE_STMT,
    WARP_GROUPS_STMT,
    MEASURE_STMT,
    BASELINE_STMT,
    PIPELINED_CLAUSE,
    WARP_ROLE,
    ROLE_COUNT,
    ROLE_BINDER,
    REGISTERS_CLAUSE,
    MEASURE_QUANTITY,
    LITERAL,
    PATH_EXPR,
    PAREN_EXPR,
    TUPLE_EXPR,
    ARRAY_EXPR,
    CALL_EXPR,
    METHOD_CALL_EXPR,
    FIELD_EXPR,
    INDEX_EXPR,
    GUARDED_EXPR,
    UNARY_EXPR,
    BINARY_EXPR,
    LAYOUT_EXPR,
    RANGE_EXPR,
    NEW_EXPR,
    WILDCARD_EXPR,
    CLOSURE_EXPR,
    IF_EXPR,
    BLOCK_EXPR,
    GENERIC_ARG_LIST,
    GENERIC_ARG,
    TUPLE_FIELD,
    ARG,
    INDEX_LIST,
    CLOSURE_PARAM_LIST,
    ELSE_BRANCH,
    NAME_PAT,
    TUPLE_PAT,
    ARRAY_PAT,
    WILDCARD_PAT,
}

use SyntaxKind::*;

impl SyntaxKind {
    /// Every kind, in the order of its number.
    pub const ALL: &'static [SyntaxKind] = &[
        EOF,
        ERROR,
        WHITESPACE,
        COMMENT,
        L_PAREN,
        R_PAREN,
        L_BRACK,
        R_BRACK,
        L_BRACE,
        R_BRACE,
        L_ANGLE,
        R_ANGLE,
        COMMA,
        SEMICOLON,
        COLON,
        COLON2,
        DOT,
        DOT2,
        THIN_ARROW,
        POUND,
        UNDERSCORE,
        PIPE,
        PIPE2,
        AMP2,
        AMP,
        CARET,
        SHL,
        SHR,
        TILDE,
        BANG,
        EQ,
        EQ2,
        NEQ,
        LTEQ,
        GTEQ,
        PLUS,
        MINUS,
        STAR,
        SLASH,
        PERCENT,
        AT,
        COMPOSE,
        PLUSEQ,
        MINUSEQ,
        STAREQ,
        SLASHEQ,
        PERCENTEQ,
        AMPEQ,
        PIPEEQ,
        CARETEQ,
        SHLEQ,
        SHREQ,
        AS_KW,
        BENCH_KW,
        CONST_KW,
        ELSE_KW,
        FALSE_KW,
        FN_KW,
        FOR_KW,
        IF_KW,
        IN_KW,
        INF_KW,
        KERNEL_KW,
        LET_KW,
        MAIN_KW,
        MUT_KW,
        NEW_KW,
        TEST_KW,
        TRUE_KW,
        USE_KW,
        WARP_GROUPS_KW,
        WHERE_KW,
        WHILE_KW,
        BASELINE_KW,
        BLOCKS_PER_SM_KW,
        BYTES_KW,
        CLUSTER_KW,
        CONSUMER_KW,
        EACH_KW,
        FLOPS_KW,
        FORALL_KW,
        GLOBAL_KW,
        GRID_KW,
        MEASURE_KW,
        PIPELINED_KW,
        PRODUCER_KW,
        REGISTER_KW,
        REGISTERS_KW,
        SHARED_KW,
        STEP_KW,
        THREADS_KW,
        TUNE_KW,
        IDENT,
        INT_NUMBER,
        FLOAT_NUMBER,
        STRING,
        SOURCE_FILE,
        CELL,
        USE,
        CONST,
        FN,
        KERNEL,
        TEST,
        BENCH,
        MAIN,
        ATTR,
        USE_TREE,
        PATH,
        USE_TREE_LIST,
        RENAME,
        NAME,
        GENERIC_PARAM_LIST,
        PARAM_LIST,
        RET_TYPE,
        WHERE_CLAUSE,
        BLOCK,
        TUNE_CLAUSE,
        GRID_CLAUSE,
        THREADS_CLAUSE,
        CLUSTER_CLAUSE,
        RESIDENCY_CLAUSE,
        CASE_CLAUSE,
        FORALL_CLAUSE,
        FORALL_VARIABLE,
        ARG_LIST,
        GENERIC_PARAM,
        PARAM,
        TUNE_AXIS,
        NAME_REF,
        TUNE_STEP,
        NAMED_TYPE,
        TUPLE_TYPE,
        FN_TYPE,
        SHAPE,
        LAYOUT_ANNOTATION,
        LET_STMT,
        ASSIGN_STMT,
        EXPR_STMT,
        FOR_STMT,
        WHILE_STMT,
        WARP_GROUPS_STMT,
        MEASURE_STMT,
        BASELINE_STMT,
        PIPELINED_CLAUSE,
        WARP_ROLE,
        ROLE_COUNT,
        ROLE_BINDER,
        REGISTERS_CLAUSE,
        MEASURE_QUANTITY,
        LITERAL,
        PATH_EXPR,
        PAREN_EXPR,
        TUPLE_EXPR,
        ARRAY_EXPR,
        CALL_EXPR,
        METHOD_CALL_EXPR,
        FIELD_EXPR,
        INDEX_EXPR,
        GUARDED_EXPR,
        UNARY_EXPR,
        BINARY_EXPR,
        LAYOUT_EXPR,
        RANGE_EXPR,
        NEW_EXPR,
        WILDCARD_EXPR,
        CLOSURE_EXPR,
        IF_EXPR,
        BLOCK_EXPR,
        GENERIC_ARG_LIST,
        GENERIC_ARG,
        TUPLE_FIELD,
        ARG,
        INDEX_LIST,
        CLOSURE_PARAM_LIST,
        ELSE_BRANCH,
        NAME_PAT,
        TUPLE_PAT,
        ARRAY_PAT,
        WILDCARD_PAT,
    ];

    /// The keyword that a word always is.
    pub fn from_keyword(word: &str) -> Option<SyntaxKind> {
        Some(match word {
            "as" => AS_KW,
            "bench" => BENCH_KW,
            "const" => CONST_KW,
            "else" => ELSE_KW,
            "false" => FALSE_KW,
            "fn" => FN_KW,
            "for" => FOR_KW,
            "if" => IF_KW,
            "in" => IN_KW,
            "inf" => INF_KW,
            "kernel" => KERNEL_KW,
            "let" => LET_KW,
            "main" => MAIN_KW,
            "mut" => MUT_KW,
            "new" => NEW_KW,
            "test" => TEST_KW,
            "true" => TRUE_KW,
            "use" => USE_KW,
            "warp_groups" => WARP_GROUPS_KW,
            "where" => WHERE_KW,
            "while" => WHILE_KW,
            _ => return None,
        })
    }

    /// The keyword that a word is in one place only.
    pub fn from_contextual_keyword(word: &str) -> Option<SyntaxKind> {
        Some(match word {
            "baseline" => BASELINE_KW,
            "blocks_per_sm" => BLOCKS_PER_SM_KW,
            "bytes" => BYTES_KW,
            "cluster" => CLUSTER_KW,
            "consumer" => CONSUMER_KW,
            "each" => EACH_KW,
            "flops" => FLOPS_KW,
            "forall" => FORALL_KW,
            "global" => GLOBAL_KW,
            "grid" => GRID_KW,
            "measure" => MEASURE_KW,
            "pipelined" => PIPELINED_KW,
            "producer" => PRODUCER_KW,
            "register" => REGISTER_KW,
            "registers" => REGISTERS_KW,
            "shared" => SHARED_KW,
            "step" => STEP_KW,
            "threads" => THREADS_KW,
            "tune" => TUNE_KW,
            _ => return None,
        })
    }

    /// The spelling of a punctuation or a keyword.
    pub fn text(self) -> Option<&'static str> {
        Some(match self {
            L_PAREN => "(",
            R_PAREN => ")",
            L_BRACK => "[",
            R_BRACK => "]",
            L_BRACE => "{",
            R_BRACE => "}",
            L_ANGLE => "<",
            R_ANGLE => ">",
            COMMA => ",",
            SEMICOLON => ";",
            COLON => ":",
            COLON2 => "::",
            DOT => ".",
            DOT2 => "..",
            THIN_ARROW => "->",
            POUND => "#",
            UNDERSCORE => "_",
            PIPE => "|",
            PIPE2 => "||",
            AMP2 => "&&",
            AMP => "&",
            CARET => "^",
            SHL => "<<",
            SHR => ">>",
            TILDE => "~",
            BANG => "!",
            EQ => "=",
            EQ2 => "==",
            NEQ => "!=",
            LTEQ => "<=",
            GTEQ => ">=",
            PLUS => "+",
            MINUS => "-",
            STAR => "*",
            SLASH => "/",
            PERCENT => "%",
            AT => "@",
            COMPOSE => "∘",
            PLUSEQ => "+=",
            MINUSEQ => "-=",
            STAREQ => "*=",
            SLASHEQ => "/=",
            PERCENTEQ => "%=",
            AMPEQ => "&=",
            PIPEEQ => "|=",
            CARETEQ => "^=",
            SHLEQ => "<<=",
            SHREQ => ">>=",
            AS_KW => "as",
            BENCH_KW => "bench",
            CONST_KW => "const",
            ELSE_KW => "else",
            FALSE_KW => "false",
            FN_KW => "fn",
            FOR_KW => "for",
            IF_KW => "if",
            IN_KW => "in",
            INF_KW => "inf",
            KERNEL_KW => "kernel",
            LET_KW => "let",
            MAIN_KW => "main",
            MUT_KW => "mut",
            NEW_KW => "new",
            TEST_KW => "test",
            TRUE_KW => "true",
            USE_KW => "use",
            WARP_GROUPS_KW => "warp_groups",
            WHERE_KW => "where",
            WHILE_KW => "while",
            BASELINE_KW => "baseline",
            BLOCKS_PER_SM_KW => "blocks_per_sm",
            BYTES_KW => "bytes",
            CLUSTER_KW => "cluster",
            CONSUMER_KW => "consumer",
            EACH_KW => "each",
            FLOPS_KW => "flops",
            FORALL_KW => "forall",
            GLOBAL_KW => "global",
            GRID_KW => "grid",
            MEASURE_KW => "measure",
            PIPELINED_KW => "pipelined",
            PRODUCER_KW => "producer",
            REGISTER_KW => "register",
            REGISTERS_KW => "registers",
            SHARED_KW => "shared",
            STEP_KW => "step",
            THREADS_KW => "threads",
            TUNE_KW => "tune",
            _ => return None,
        })
    }

    /// Whether the kind is that of a keyword, contextual ones included.
    pub fn is_keyword(self) -> bool {
        matches!(
            self,
            AS_KW
                | BENCH_KW
                | CONST_KW
                | ELSE_KW
                | FALSE_KW
                | FN_KW
                | FOR_KW
                | IF_KW
                | IN_KW
                | INF_KW
                | KERNEL_KW
                | LET_KW
                | MAIN_KW
                | MUT_KW
                | NEW_KW
                | TEST_KW
                | TRUE_KW
                | USE_KW
                | WARP_GROUPS_KW
                | WHERE_KW
                | WHILE_KW
                | BASELINE_KW
                | BLOCKS_PER_SM_KW
                | BYTES_KW
                | CLUSTER_KW
                | CONSUMER_KW
                | EACH_KW
                | FLOPS_KW
                | FORALL_KW
                | GLOBAL_KW
                | GRID_KW
                | MEASURE_KW
                | PIPELINED_KW
                | PRODUCER_KW
                | REGISTER_KW
                | REGISTERS_KW
                | SHARED_KW
                | STEP_KW
                | THREADS_KW
                | TUNE_KW
        )
    }
}

/// The kind of a punctuation, a keyword or a token class, by its spelling.
#[doc(hidden)]
#[macro_export]
macro_rules! T_ {
    ['('] => { $crate::SyntaxKind::L_PAREN };
    [')'] => { $crate::SyntaxKind::R_PAREN };
    ['['] => { $crate::SyntaxKind::L_BRACK };
    [']'] => { $crate::SyntaxKind::R_BRACK };
    ['{'] => { $crate::SyntaxKind::L_BRACE };
    ['}'] => { $crate::SyntaxKind::R_BRACE };
    [<] => { $crate::SyntaxKind::L_ANGLE };
    [>] => { $crate::SyntaxKind::R_ANGLE };
    [,] => { $crate::SyntaxKind::COMMA };
    [;] => { $crate::SyntaxKind::SEMICOLON };
    [:] => { $crate::SyntaxKind::COLON };
    [::] => { $crate::SyntaxKind::COLON2 };
    [.] => { $crate::SyntaxKind::DOT };
    [..] => { $crate::SyntaxKind::DOT2 };
    [->] => { $crate::SyntaxKind::THIN_ARROW };
    [#] => { $crate::SyntaxKind::POUND };
    [_] => { $crate::SyntaxKind::UNDERSCORE };
    [|] => { $crate::SyntaxKind::PIPE };
    [||] => { $crate::SyntaxKind::PIPE2 };
    [&&] => { $crate::SyntaxKind::AMP2 };
    [&] => { $crate::SyntaxKind::AMP };
    [^] => { $crate::SyntaxKind::CARET };
    [<<] => { $crate::SyntaxKind::SHL };
    [>>] => { $crate::SyntaxKind::SHR };
    [~] => { $crate::SyntaxKind::TILDE };
    [!] => { $crate::SyntaxKind::BANG };
    [=] => { $crate::SyntaxKind::EQ };
    [==] => { $crate::SyntaxKind::EQ2 };
    [!=] => { $crate::SyntaxKind::NEQ };
    [<=] => { $crate::SyntaxKind::LTEQ };
    [>=] => { $crate::SyntaxKind::GTEQ };
    [+] => { $crate::SyntaxKind::PLUS };
    [-] => { $crate::SyntaxKind::MINUS };
    [*] => { $crate::SyntaxKind::STAR };
    [/] => { $crate::SyntaxKind::SLASH };
    [%] => { $crate::SyntaxKind::PERCENT };
    [@] => { $crate::SyntaxKind::AT };
    ['∘'] => { $crate::SyntaxKind::COMPOSE };
    [+=] => { $crate::SyntaxKind::PLUSEQ };
    [-=] => { $crate::SyntaxKind::MINUSEQ };
    [*=] => { $crate::SyntaxKind::STAREQ };
    [/=] => { $crate::SyntaxKind::SLASHEQ };
    [%=] => { $crate::SyntaxKind::PERCENTEQ };
    [&=] => { $crate::SyntaxKind::AMPEQ };
    [|=] => { $crate::SyntaxKind::PIPEEQ };
    [^=] => { $crate::SyntaxKind::CARETEQ };
    [<<=] => { $crate::SyntaxKind::SHLEQ };
    [>>=] => { $crate::SyntaxKind::SHREQ };
    [as] => { $crate::SyntaxKind::AS_KW };
    [bench] => { $crate::SyntaxKind::BENCH_KW };
    [const] => { $crate::SyntaxKind::CONST_KW };
    [else] => { $crate::SyntaxKind::ELSE_KW };
    [false] => { $crate::SyntaxKind::FALSE_KW };
    [fn] => { $crate::SyntaxKind::FN_KW };
    [for] => { $crate::SyntaxKind::FOR_KW };
    [if] => { $crate::SyntaxKind::IF_KW };
    [in] => { $crate::SyntaxKind::IN_KW };
    [inf] => { $crate::SyntaxKind::INF_KW };
    [kernel] => { $crate::SyntaxKind::KERNEL_KW };
    [let] => { $crate::SyntaxKind::LET_KW };
    [main] => { $crate::SyntaxKind::MAIN_KW };
    [mut] => { $crate::SyntaxKind::MUT_KW };
    [new] => { $crate::SyntaxKind::NEW_KW };
    [test] => { $crate::SyntaxKind::TEST_KW };
    [true] => { $crate::SyntaxKind::TRUE_KW };
    [use] => { $crate::SyntaxKind::USE_KW };
    [warp_groups] => { $crate::SyntaxKind::WARP_GROUPS_KW };
    [where] => { $crate::SyntaxKind::WHERE_KW };
    [while] => { $crate::SyntaxKind::WHILE_KW };
    [baseline] => { $crate::SyntaxKind::BASELINE_KW };
    [blocks_per_sm] => { $crate::SyntaxKind::BLOCKS_PER_SM_KW };
    [bytes] => { $crate::SyntaxKind::BYTES_KW };
    [cluster] => { $crate::SyntaxKind::CLUSTER_KW };
    [consumer] => { $crate::SyntaxKind::CONSUMER_KW };
    [each] => { $crate::SyntaxKind::EACH_KW };
    [flops] => { $crate::SyntaxKind::FLOPS_KW };
    [forall] => { $crate::SyntaxKind::FORALL_KW };
    [global] => { $crate::SyntaxKind::GLOBAL_KW };
    [grid] => { $crate::SyntaxKind::GRID_KW };
    [measure] => { $crate::SyntaxKind::MEASURE_KW };
    [pipelined] => { $crate::SyntaxKind::PIPELINED_KW };
    [producer] => { $crate::SyntaxKind::PRODUCER_KW };
    [register] => { $crate::SyntaxKind::REGISTER_KW };
    [registers] => { $crate::SyntaxKind::REGISTERS_KW };
    [shared] => { $crate::SyntaxKind::SHARED_KW };
    [step] => { $crate::SyntaxKind::STEP_KW };
    [threads] => { $crate::SyntaxKind::THREADS_KW };
    [tune] => { $crate::SyntaxKind::TUNE_KW };
    [ident] => { $crate::SyntaxKind::IDENT };
    [int_number] => { $crate::SyntaxKind::INT_NUMBER };
    [float_number] => { $crate::SyntaxKind::FLOAT_NUMBER };
    [string] => { $crate::SyntaxKind::STRING };
}

pub use T_ as T;
