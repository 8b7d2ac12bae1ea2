/**
 * @file Tree-sitter grammar of hx, for editors.
 * @license MIT OR Apache-2.0
 *
 * It accepts the texts that the parser of the toolchain (crates/hx-syntax) accepts, and no others: the suite
 * `tree_sitter` in tests/ compares the two. The fine print of the language makes some choices depend on more than one
 * token (is `<` a bracket, does a comma end a `where` clause); src/scanner.c looks ahead for those.
 *
 * Expressions come in three forms, because their place forbids something: in the header of a block `{` begins the block
 * and no operand, between `<` and `>` comparisons need parentheses. Brackets lift both. Levels are spelled out instead of
 * being numbered, because comparisons and layouts do not associate.
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

/** Words that are keywords in some places and names in all others. */
const CONTEXTUAL = [
  'baseline', 'blocks_per_sm', 'bytes', 'cluster', 'consumer', 'each', 'flops', 'forall', 'global', 'grid', 'measure', 'pipelined', 'producer', 'register',
  'registers', 'shared', 'step', 'swizzle', 'threads', 'tune',
];

/** Statements of other languages: a statement that is only such a word is refused. */
const FOREIGN = ['break', 'continue', 'return'];

/** Operators that begin no statement: behind a block they are refused. */
const NO_STATEMENT = [
  '||', '&&', '==', '!=', '<', '<=', '>', '>=', '∘', ':', '|', '^', '&', '<<', '>>', '+', '*', '/', '%', '@',
  '.',
];

const FREE = 'free';
const HEADER = 'header';
const ANGLE = 'angle';

const oneOf = (tokens) => (tokens.length === 1 ? tokens[0] : choice(...tokens));

/** Elements between commas, a comma behind the last allowed, none at all too. */
const list = (element) => optional(seq(element, repeat(seq(',', element)), optional(',')));

/** Characters that break the counting of lines or the direction of text, and have no place even in comments. */
const FORBIDDEN = '\\n\\r\\u000b\\u000c\\u0085\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069\\u200e\\u200f\\u061c';

/** A name, contextual keywords among them, as a node of that kind. */
const name = ($, kind, without = []) => {
  const words = [...CONTEXTUAL, ...FOREIGN].filter((word) => !without.includes(word));
  const plain = kind.name === 'identifier' ? $.identifier : alias($.identifier, kind);
  return choice(plain, ...words.map((word) => alias(word, kind)));
};

/** The rules of expressions for one kind of place. */
function expressions(place) {
  const rules = {};
  const rule = ($, name, where = place) => $[`_${name}_${where}`];
  const node = ($, name, kind, where = place) => alias($[`_${name}_${where}`], $[kind]);
  const define = (name, body) => {
    rules[`_${name}_${place}`] = body;
  };
  const infix = (left, operators, right) =>
    seq(field('left', left), field('operator', oneOf(operators)), field('right', right));

  define('expr', ($) => choice(rule($, 'or'), node($, 'range', 'range_expr')));
  define('range', ($) =>
    prec.right(
      seq(
        optional(field('start', rule($, 'or'))),
        '..',
        // `..=` of another language is refused.
        optional(choice(field('end', rule($, 'or')), seq('=', $._never))),
      ),
    ),
  );
  define('or', ($) => choice(rule($, 'and'), node($, 'or_pair', 'binary_expr')));
  define('or_pair', ($) => infix(rule($, 'or'), ['||'], rule($, 'and')));
  define('and', ($) => choice(rule($, 'comparison'), node($, 'and_pair', 'binary_expr')));
  define('and_pair', ($) => infix(rule($, 'and'), ['&&'], rule($, 'comparison')));
  // In `<T: f16[m] : a > b` the `>` is an operator.
  define('comparison', ($) => prec.right(choice(rule($, 'compose'), node($, 'comparison_pair', 'binary_expr'))));
  const comparisons = place === ANGLE ? ['==', '!='] : ['==', '!=', '<', '<=', '>', '>='];
  define('comparison_pair', ($) => {
    const pair = infix(rule($, 'compose'), comparisons, rule($, 'compose'));
    // So that `>=` is one token here too, and an error.
    return place === ANGLE ? choice(pair, seq(rule($, 'compose'), '>=', $._never)) : pair;
  });
  define('compose', ($) => choice(rule($, 'layout'), node($, 'compose_pair', 'binary_expr')));
  define('compose_pair', ($) => infix(rule($, 'compose'), ['∘'], rule($, 'layout')));
  define('layout', ($) => choice(rule($, 'bit_or'), node($, 'layout_pair', 'layout_expr')));
  define('layout_pair', ($) => seq(field('shape', rule($, 'bit_or')), ':', field('stride', rule($, 'bit_or'))));
  define('bit_or', ($) => choice(rule($, 'bit_xor'), node($, 'bit_or_pair', 'binary_expr')));
  define('bit_or_pair', ($) => infix(rule($, 'bit_or'), ['|'], rule($, 'bit_xor')));
  define('bit_xor', ($) => choice(rule($, 'bit_and'), node($, 'bit_xor_pair', 'binary_expr')));
  define('bit_xor_pair', ($) => infix(rule($, 'bit_xor'), ['^'], rule($, 'bit_and')));
  // The angles of a shift would close the list that they are in.
  const shift = ($) => (place === ANGLE ? rule($, 'sum', FREE) : rule($, 'shift'));
  define('bit_and', ($) => choice(shift($), node($, 'bit_and_pair', 'binary_expr')));
  define('bit_and_pair', ($) => infix(rule($, 'bit_and'), ['&'], shift($)));
  if (place === ANGLE) return rules;

  define('shift', ($) => choice(rule($, 'sum'), node($, 'shift_pair', 'binary_expr')));
  define('shift_pair', ($) => infix(rule($, 'shift'), ['<<', '>>'], rule($, 'sum')));
  define('sum', ($) => choice(rule($, 'product'), node($, 'sum_pair', 'binary_expr')));
  define('sum_pair', ($) => infix(rule($, 'sum'), ['+', '-'], rule($, 'product')));
  define('product', ($) => choice(rule($, 'unary'), node($, 'product_pair', 'binary_expr')));
  define('product_pair', ($) => infix(rule($, 'product'), ['*', '/', '%', '@'], rule($, 'unary')));
  define('unary', ($) =>
    choice(rule($, 'postfix'), node($, 'prefixed', 'unary_expr'), node($, 'guarded', 'guarded_expr')),
  );
  define('prefixed', ($) =>
    seq(field('operator', choice('-', '!', '~')), field('operand', rule($, 'unary'))),
  );
  define('postfix', ($) =>
    choice(
      $._primary,
      ...(place === FREE ? [$._block_like] : [$.if_expr]),
      node($, 'call', 'call_expr'),
      node($, 'method_call', 'method_call_expr'),
      node($, 'field', 'field_expr'),
      node($, 'index', 'index_expr'),
    ),
  );
  define('call', ($) =>
    choice(
      seq(field('callee', rule($, 'postfix')), field('arguments', $.arg_list)),
      // The select, whose name is a keyword elsewhere.
      seq(field('callee', alias('where', $.identifier)), field('arguments', $.arg_list)),
    ),
  );
  define('method_call', ($) =>
    prec(
      1,
      seq(field('receiver', rule($, 'postfix')), '.', field('method', $._field_name), field('arguments', $.arg_list)),
    ),
  );
  define('field', ($) =>
    seq(field('base', rule($, 'postfix')), '.', field('field', $._field_name)),
  );
  define('index', ($) => seq(field('base', rule($, 'postfix')), field('indices', $.index_list)));
  define('guarded', ($) =>
    seq(field('read', node($, 'index', 'index_expr')), 'else', field('otherwise', rule($, 'unary'))),
  );
  return rules;
}

/** The clauses of a kernel: each at most once, in any order. One rule for every set of clauses that may still come. */
function kernelClauses() {
  const clauses = ['where_clause', 'tune_clause', 'grid_clause', 'threads_clause', 'cluster_clause', 'residency_clause'];
  const rules = {};
  for (let set = 1; set < 1 << clauses.length; set++) {
    rules[`_clauses_${set}`] = ($) =>
      choice(
        ...clauses.flatMap((clause, at) => {
          if (!(set & (1 << at))) return [];
          const rest = set & ~(1 << at);
          return [rest ? seq($[clause], optional($[`_clauses_${rest}`])) : $[clause]];
        }),
      );
  }
  return rules;
}

module.exports = grammar({
  name: 'hx',

  word: ($) => $.identifier,

  externals: ($) => [
    $.block_comment,
    $.string_content,
    // The `<` before `IDENT =`.
    $._open_angle,
    // The comma that ends a `where`, `tune` or `forall` clause.
    $._last_comma,
    // Nothing, before a name.
    $._before_name,
    // No text: what leads here is an error.
    $._never,
  ],

  extras: ($) => [/[ \t\n]|\r\n/, $.line_comment, $.doc_comment, $.file_doc_comment, $.block_comment],

  reserved: {
    global: ($) => [
      '_', 'as', 'bench', 'const', 'else', 'false', 'fn', 'for', 'if', 'in', 'inf', 'kernel', 'let', 'main', 'mut', 'new',
      'test', 'true', 'use', 'warp_groups', 'where', 'while',
    ],
  },

  inline: ($) => [$._path],

  supertypes: ($) => [$.item, $.pattern, $.type],

  rules: {
    source_file: ($) => repeat($.item),

    //
    // Files and items
    //

    item: ($) =>
      choice($.use_item, $.const_item, $.fn_item, $.kernel_item, $.test_item, $.bench_item, $.main_item),

    use_item: ($) => seq(repeat($.attribute), 'use', $.use_tree, ';'),
    use_tree: ($) =>
      choice(
        field('path', $._path),
        seq(field('path', $._path), optional('::'), $.use_tree_list),
        seq(field('path', $._path), $.rename),
        $.use_tree_list,
      ),
    use_tree_list: ($) => seq('{', list($.use_tree), '}'),
    rename: ($) => seq('as', field('name', $._name)),

    const_item: ($) =>
      seq(
        repeat($.attribute),
        'const',
        field('name', $._name),
        optional(seq(':', field('type', $.type))),
        '=',
        field('value', $._expr_free),
        ';',
      ),

    fn_item: ($) =>
      seq(
        repeat($.attribute),
        'fn',
        field('name', $._name),
        optional($.generic_param_list),
        field('parameters', $.param_list),
        optional(seq('->', field('result', $.type))),
        optional($.where_clause),
        choice(field('body', $.block), ';'),
      ),

    kernel_item: ($) =>
      seq(
        repeat($.attribute),
        'kernel',
        field('name', $._name),
        optional($.generic_param_list),
        field('parameters', $.param_list),
        optional($._clauses_63),
        field('body', $.block),
      ),
    ...kernelClauses(),

    test_item: ($) =>
      seq(
        repeat($.attribute),
        'test',
        field('name', $.string),
        optional(choice($.case_clause, $.forall_clause)),
        field('body', $.block),
      ),
    bench_item: ($) =>
      seq(repeat($.attribute), 'bench', field('name', $.string), optional($.case_clause), field('body', $.block)),
    case_clause: ($) => seq('for', field('pattern', $.pattern), 'in', field('cases', $._expr_header)),
    forall_clause: ($) =>
      seq('forall', $.forall_variable, repeat(seq(',', $.forall_variable)), optional(alias($._last_comma, ','))),
    forall_variable: ($) =>
      seq(
        field('pattern', $.pattern),
        'in',
        field('domain', choice($._or_header, alias($._bounded_range, $.range_expr))),
      ),
    _bounded_range: ($) =>
      seq(field('start', $._or_header), '..', optional('='), field('end', $._or_header)),

    main_item: ($) => seq(repeat($.attribute), 'main', field('body', $.block)),

    attribute: ($) => seq('#', '[', field('name', $._path), optional($.arg_list), ']'),

    //
    // Headers and types
    //

    generic_param_list: ($) => seq('<', list($.generic_param), '>'),
    generic_param: ($) =>
      seq(
        field('name', $._name),
        optional(seq(':', field('type', $.type))),
        optional(seq('=', field('default', $._expr_angle))),
      ),

    param_list: ($) => seq('(', list($.param), ')'),
    param: ($) => seq(field('name', $._name), ':', field('type', $.type)),

    where_clause: ($) =>
      seq('where', $._expr_header, repeat(seq(',', $._expr_header)), optional(alias($._last_comma, ','))),
    tune_clause: ($) =>
      seq('tune', $.tune_axis, repeat(seq(',', $.tune_axis)), optional(alias($._last_comma, ','))),
    tune_axis: ($) =>
      seq(
        field('parameter', $._name),
        'in',
        field('values', choice($._expr_header, alias($._closed_range, $.range_expr))),
        optional($.tune_step),
      ),
    _closed_range: ($) =>
      prec.right(seq(optional(field('start', $._or_header)), '..', '=', optional(field('end', $._or_header)))),
    tune_step: ($) => seq('step', $._expr_header),
    grid_clause: ($) => seq('grid', $._expr_header),
    threads_clause: ($) => seq('threads', $._expr_header),
    cluster_clause: ($) => seq('cluster', $._expr_header),
    residency_clause: ($) => seq('blocks_per_sm', $._expr_header),

    type: ($) => choice($.named_type, $.tuple_type, $.fn_type),
    named_type: ($) =>
      seq(
        optional(field('memory', $.memory_space)),
        optional('mut'),
        field('name', choice($._type_name, $.scoped_identifier)),
        optional(seq(field('shape', $.shape), optional($.layout_annotation))),
      ),
    memory_space: (_) => choice('global', 'shared', 'register'),
    fn_type: (_) => 'fn',
    tuple_type: ($) => seq('(', list($.type), ')'),
    shape: ($) => seq('[', optional($._elements), ']'),
    layout_annotation: ($) => seq(':', field('value', $._expr_header)),

    //
    // Statements
    //

    block: ($) => seq('{', repeat($._stmt), optional($._last), '}'),
    // What needs no `;` before the end of a block: its value, among others. A value that begins with `if` or `{` is read
    // as a statement.
    _last: ($) =>
      choice(
        $._expr_free,
        alias($._last_expr_stmt, $.expr_stmt),
        alias($._last_baseline_stmt, $.baseline_stmt),
      ),
    _last_expr_stmt: ($) => seq(repeat1($.attribute), $._expr_free),
    _last_baseline_stmt: ($) => $._baseline,

    _stmt: ($) =>
      choice(
        $.let_stmt,
        $.assign_stmt,
        $.expr_stmt,
        $.for_stmt,
        $.while_stmt,
        $.warp_groups_stmt,
        $.measure_stmt,
        $.baseline_stmt,
        $._foreign_stmt,
      ),

    let_stmt: ($) =>
      seq(
        repeat($.attribute),
        'let',
        field('pattern', $.pattern),
        optional(seq(':', field('type', $.type))),
        '=',
        field('value', $._expr_free),
        ';',
      ),

    assign_stmt: ($) =>
      choice(
        seq(repeat($.attribute), field('place', $._expr_free), $._assigned),
        prec(1, seq(repeat($.attribute), field('place', $._block_like), $._assigned)),
      ),
    _assigned: ($) =>
      seq(
        field('operator', choice('=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>=')),
        field('value', $._expr_free),
        ';',
      ),

    expr_stmt: ($) =>
      choice(
        seq(repeat($.attribute), $._expr_free, ';'),
        // What follows `if` or a block is the next statement.
        prec(1, seq(repeat($.attribute), $._block_like, optional(';'))),
        prec(1, seq(repeat($.attribute), $._block_like, choice(...NO_STATEMENT), $._never)),
      ),

    for_stmt: ($) =>
      seq(
        repeat($.attribute),
        'for',
        field('pattern', $.pattern),
        'in',
        field('iterable', $._expr_header),
        optional($.pipelined_clause),
        field('body', $.block),
      ),

    pipelined_clause: ($) => seq('pipelined', '(', field('stages', $._expr_free), ')'),

    while_stmt: ($) =>
      seq(repeat($.attribute), 'while', field('condition', $._expr_header), field('body', $.block)),

    warp_groups_stmt: ($) => seq(repeat($.attribute), 'warp_groups', '{', repeat($.warp_role), '}'),
    warp_role: ($) =>
      seq(
        field('kind', choice('producer', 'consumer')),
        optional(
          seq(
            choice('each', $.registers_clause, $.role_binder, alias($._first_role_count, $.role_count)),
            repeat(choice($.registers_clause, $.role_binder, $.role_count)),
          ),
        ),
        field('body', $.block),
      ),
    // `each` and `registers` are keywords in the places where they are wanted, and names behind those.
    _first_role_count: ($) => choice(name($, $.identifier, ['each', 'registers']), $._no_simple_count),
    role_count: ($) => choice(name($, $.identifier, ['registers']), $._no_simple_count),
    role_binder: ($) => prec(1, seq('(', field('name', $._name), ')')),
    registers_clause: ($) => seq('registers', choice($._name, $._no_simple_count)),
    _no_simple_count: ($) =>
      choice(
        $.int_literal,
        seq($._suffixed_number, $._never),
        $.scoped_identifier,
        $.generic_name,
        $.paren_expr,
        $.tuple_expr,
      ),

    measure_stmt: ($) => seq(repeat($.attribute), 'measure', repeat($.measure_quantity), field('body', $.block)),
    measure_quantity: ($) => seq(field('kind', choice('flops', 'bytes')), field('amount', $._expr_header)),
    baseline_stmt: ($) => seq($._baseline, ';'),
    _baseline: ($) => seq(repeat($.attribute), 'baseline', $._before_name, field('value', $._expr_free)),

    //
    // Expressions
    //

    ...expressions(FREE),
    ...expressions(HEADER),
    ...expressions(ANGLE),

    _primary: ($) =>
      choice(
        $.int_literal,
        $.float_literal,
        seq($._suffixed_number, $._never),
        $.string,
        $.boolean,
        $.inf,
        $.wildcard,
        $._path,
        $.generic_name,
        $.paren_expr,
        $.tuple_expr,
        $.array_expr,
      ),
    _block_like: ($) => choice($.if_expr, $.block),

    generic_name: ($) =>
      choice(
        seq(field('name', $._path), field('arguments', $.generic_arg_list)),
        prec(
          1,
          seq(
            field('name', alias('swizzle', $.identifier)),
            field('arguments', alias($._swizzle_arg_list, $.generic_arg_list)),
          ),
        ),
      ),
    generic_arg_list: ($) => seq(alias($._open_angle, '<'), list($.generic_arg), '>'),
    _swizzle_arg_list: ($) => seq('<', list($.generic_arg), '>'),
    generic_arg: ($) =>
      choice(
        seq(field('name', $._name), '=', field('value', $._expr_angle)),
        field('value', $._expr_angle),
        $._mistaken_label,
      ),

    paren_expr: ($) => seq('(', $._expr_free, ')'),
    tuple_expr: ($) =>
      choice(
        seq('(', ')'),
        seq('(', alias($._labelled, $.tuple_field), ')'),
        seq('(', $.tuple_field, ',', list($.tuple_field), ')'),
      ),
    tuple_field: ($) => choice($._labelled, $._expr_free),
    // `IDENT ':'` is always a label.
    _labelled: ($) => prec(1, seq(field('label', $._name), ':', field('value', $._expr_free))),

    array_expr: ($) => seq('[', optional($._elements), ']'),
    // Behind a comma a label is expected, so that a layout which looks like one is refused.
    _elements: ($) => seq($._expr_free, repeat(seq(',', $._element)), optional(',')),
    _element: ($) => choice($._expr_free, $._mistaken_label),
    _mistaken_label: ($) => prec(1, seq($._name, ':', $._never)),

    arg_list: ($) => seq('(', list($.arg), ')'),
    arg: ($) =>
      choice(
        prec(1, seq(field('label', $._name), ':', field('value', choice($._expr_free, $.closure_expr)))),
        field('value', choice($._expr_free, $.closure_expr)),
      ),
    closure_expr: ($) => seq($.closure_param_list, field('body', $._expr_free)),
    closure_param_list: ($) => choice(seq('|', list($.pattern), '|'), seq('||', $._never)),

    index_list: ($) =>
      seq('[', optional(seq(choice($._expr_free, $.new_axis), repeat(seq(',', choice($._element, $.new_axis))), optional(','))), ']'),
    new_axis: (_) => 'new',

    if_expr: ($) =>
      seq('if', field('condition', $._expr_header), field('consequence', $.block), optional($.else_branch)),
    else_branch: ($) => seq('else', choice($.block, $.if_expr)),

    //
    // Patterns, names and literals
    //

    pattern: ($) => choice($._name, $.wildcard, $.tuple_pattern, $.array_pattern),
    tuple_pattern: ($) => seq('(', list($.pattern), ')'),
    array_pattern: ($) => seq('[', list($.pattern), ']'),

    wildcard: (_) => '_',

    _path: ($) => choice($._name, $.scoped_identifier),
    scoped_identifier: ($) => seq(field('path', $._path), '::', field('name', $._name)),
    _name: ($) => name($, $.identifier),
    _type_name: ($) => name($, $.type_identifier),
    _field_name: ($) => name($, $.field_identifier),
    _foreign_stmt: ($) => prec(1, seq(choice(...FOREIGN), choice(';', '}'), $._never)),

    identifier: (_) => /[A-Za-z_][A-Za-z0-9_]*/,

    int_literal: (_) =>
      token(choice(/[0-9][0-9_]*/, /0[xX]_*[0-9a-fA-F][0-9a-fA-F_]*/, /0[bB]_*[01][01_]*/, /0[oO]_*[0-7][0-7_]*/)),
    float_literal: (_) =>
      token(choice(/[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9][0-9_]*)?/, /[0-9][0-9_]*[eE][+-]?[0-9][0-9_]*/)),
    // Numbers take no suffix. This comes behind the numbers, which win where both match the same text.
    _suffixed_number: (_) => token(/[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9][0-9_]*)?[A-Za-z_][A-Za-z0-9_]*/),
    boolean: (_) => choice('true', 'false'),
    inf: (_) => 'inf',

    string: ($) => seq('"', repeat(choice($.string_content, $.escape_sequence)), token.immediate('"')),
    escape_sequence: (_) =>
      token.immediate(
        choice(
          /\\[ntr0\\"]/,
          // A code point, surrogates left out.
          /\\u\{0*(10[0-9a-fA-F]{4}|[1-9a-fA-F][0-9a-fA-F]{4}|[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}|[0-9a-fA-F]{1,3})\}/,
        ),
      ),

    line_comment: (_) => token(choice(new RegExp(`//([^/!${FORBIDDEN}][^${FORBIDDEN}]*)?`), new RegExp(`////[^${FORBIDDEN}]*`))),
    doc_comment: (_) => token(new RegExp(`///([^/${FORBIDDEN}][^${FORBIDDEN}]*)?`)),
    file_doc_comment: (_) => token(new RegExp(`//![^${FORBIDDEN}]*`)),
  },
});
