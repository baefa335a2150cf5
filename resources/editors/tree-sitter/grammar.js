// SPDX-License-Identifier: Apache-2.0
// The grammar of .fuse files for editors that read tree-sitter: what dsl/grammar_*.cpp takes, it takes
// (tests/lsp/tree_sitter), and a little more, for nothing here reports mistakes. `tree-sitter generate`
// writes the parser.

/** One or more, with commas between. */
const list1 = rule => seq(rule, repeat(seq(',', rule)));
const list = rule => optional(list1(rule));

/** How strongly an expression's operators bind, the weakest first. */
const binding = { chain: 1, or: 2, and: 3, not: 4, compare: 5, coalesce: 6, sum: 7, product: 8, sign: 9, part: 10 };

module.exports = grammar({
  name: 'fuse',
  extras: $ => [/\s/, $.doc_comment, $.comment],
  word: $ => $.name,
  conflicts: $ => [[$._element_types]],

  rules: {
    file: $ => seq($.header, repeat($._item)),
    header: $ => seq('fuse', $.number, ';'),
    _item: $ => choice($.import, $.opset, $.class, $.function, $.pattern, $.form, $.operator_declaration, $.rule, $.pipeline),

    // Items.

    import: $ => seq('import', $.string, ';'),
    opset: $ => seq('opset', '>=', $.number, optional(seq('<', $.number)), ';'),
    class: $ => seq('class', field('name', $.type_name), '=', $._class_member, repeat(seq('|', $._class_member)), ';'),
    _class_member: $ => choice($.trait, $.operator),
    trait: $ => seq('@', $.name),
    function: $ => seq('fn', field('name', $.name), '(', list($.name), ')', '=', $._expression, ';'),
    pattern: $ => seq('pattern', field('name', $.type_name), $.parameters, '->', list1($.name), $.block),
    form: $ => seq('form', field('name', $.type_name), $.parameters, optional(seq('[', list1($.test), ']')), $.block),
    parameters: $ => seq('(', list(seq($.name, optional(seq(':', $.type)))), ')'),
    operator_declaration: $ => seq(
      'op', field('name', $.operator), '(', list(seq($.name, optional('?'))), ')', '->',
      choice($.name, seq('(', list1($.name), ')')),
      optional(seq('[', list1($.attribute_declaration), ']')), choice(';', $.block)),
    attribute_declaration: $ => seq(
      field('name', $._attribute_name), ':',
      choice('int', 'float', 'string', 'ints', 'floats', 'strings', 'tensor'), optional(seq('=', $._expression))),
    pipeline: $ => seq(
      'pipeline', field('name', $.name), '=', $.phase, repeat(seq('then', $.phase)),
      optional(seq('keep', $.type_name)), ';'),
    phase: $ => seq($.name, optional('*'), optional(seq('by', choice('order', 'gain', 'exact')))),
    rule: $ => seq('rule', field('name', $.type_name), repeat($._modifier), '{', repeat($._clause), '}'),
    _modifier: $ => choice(
      seq('in', $.name), seq('priority', $._signed_number), 'once', seq('replaces', $.type_name)),

    // Clauses of a rule.

    _clause: $ => choice(
      $.match, $.rewrite, $.gate, $.escape, $.numeric, $.qdq, $.verify, $.hint, $.as, $.test_block),
    match: $ => seq('match', $.block),
    rewrite: $ => seq('rewrite', '{', repeat(choice($.let, $.assignment)), '}'),
    assignment: $ => seq(list1($.target), '=', $._expression, ';'),
    target: $ => seq($.name, optional(seq('[', ']'))),
    gate: $ => seq('gate', choice(seq(choice('always', 'measured'), optional(seq('and', $._expression))), $._expression), ';'),
    escape: $ => seq(
      'escape', list1($.name), ':', choice('forbid', 'export', 'duplicate'), optional(seq('if', $._expression)), ';'),
    numeric: $ => seq('numeric', choice('exact', 'wider', 'reassociated', 'approximate'), ';'),
    qdq: $ => seq('qdq', '{', repeat($.qdq_point), '}'),
    qdq_point: $ => seq(
      field('name', $.type_name), ':', $.name, optional(seq('axis', $._signed_number)),
      optional(seq('if', $._expression)), ';'),
    verify: $ => seq(
      'verify', $.number, optional(seq('tolerance', $._numeral)), optional(seq('with', '{', list1($.sampled), '}')), ';'),
    sampled: $ => choice(
      seq($.type_name, 'in', $._expression), seq($.name, 'in', $._signed_number, '..', $._signed_number)),
    hint: $ => seq('hint', $.string, ';'),
    as: $ => seq(
      'as', $.operator, optional(seq('(', list1($.name), ')')), optional(seq('[', list1($.named_argument), ']')), ';'),
    test_block: $ => seq('test', $.string, '{', repeat($.test_line), '}'),
    test_line: $ => seq(
      choice(
        seq(choice('graph', 'model'), $.string),
        seq('zoo', $._word),
        seq('expect', choice(seq(choice('fires', 'nodes', 'same'), $._numeral), seq('miss', $._word)))),
      ';'),

    // Statements, and what they look for.

    block: $ => seq('{', repeat($._statement), '}'),
    _statement: $ => choice($.let, $.where, $.unless, $.many, $.definition),
    let: $ => seq('let', field('name', $.name), '=', $._expression, ';'),
    where: $ => seq('where', list1($._expression), ';'),
    unless: $ => seq('unless', $.block),
    many: $ => seq('many', $.range, optional('all'), $.block),
    definition: $ => seq(optional(seq(field('name', list1($.name)), '=')), $._choice, ';'),
    _choice: $ => seq($._alternative, repeat(seq('|', $._alternative))),
    _alternative: $ => seq(optional($.label), $._chain),
    label: $ => seq($.name, ':'),
    _chain: $ => seq($.step, repeat(seq('->', $.step))),
    step: $ => seq($._term, optional(choice('?', seq('{', $.range, '}')))),
    range: $ => seq($.number, optional(seq('..', $.number))),
    _term: $ => choice($.hole, $.number_pattern, seq(optional($.capture), choice($.group, $.region, $.node)), $.value),
    hole: _ => '_',
    number_pattern: $ => seq($._signed_number, optional(seq('~', $._numeral))),
    capture: $ => seq($.name, '@'),
    group: $ => seq('(', $._choice, ')'),
    region: $ => seq('region', $.type_name, '{', $.range, '}', optional(seq('outs', $.number))),
    node: $ => seq(
      optional(choice('ordered', 'flat', 'spec')), $.operator,
      optional(seq('(', list($.operand), ')')), optional(seq('[', list1($.test), ']'))),
    operand: $ => seq(optional(seq(field('name', $._attribute_name), '=')), $._chain),
    test: $ => seq(
      field('attribute', $._attribute_name), choice('==', '!=', '<', '<=', '>', '>=', 'in'), $._expression),
    value: $ => prec.right(seq($.name, optional('?'), optional('...'), optional(seq(':', $.type)))),
    type: $ => choice(
      seq(repeat1($.flag), optional($._element_types), optional($.dimensions)),
      seq($._element_types, optional($.dimensions)),
      $.dimensions),
    flag: _ => choice('const', 'scalar', 'input'),
    _element_types: $ => seq($.element_type, repeat(seq('|', $.element_type))),
    element_type: _ => choice(
      'float', 'float16', 'bfloat16', 'double', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64',
      'bool', 'string', 'complex64', 'complex128', 'float8e4m3fn', 'float8e4m3fnuz', 'float8e5m2', 'float8e5m2fnuz',
      'float8e8m0', 'float4e2m1', 'int4', 'uint4', 'int2', 'uint2'),
    dimensions: $ => seq('[', list(choice('...', $._expression)), ']'),

    // Expressions.

    _expression: $ => choice(
      $.binary, $.unary, $.member, $.index, $.call, $.parenthesized, $.list, $.set, $.list_of, $.attributes,
      $.name, $.type_name, $.number, $.string, $.constant, $.hole),
    binary: $ => choice(...[
      [binding.chain, '->'], [binding.or, 'or'], [binding.and, 'and'],
      [binding.compare, choice('==', '!=', '<', '<=', '>', '>=', 'in')], [binding.coalesce, '??'],
      [binding.sum, choice('+', '-')], [binding.product, choice('*', '/', '%')],
    ].map(([strength, mark]) => prec.left(strength, seq($._expression, mark, $._expression)))),
    unary: $ => choice(
      prec(binding.not, seq('not', $._expression)), prec(binding.sign, seq('-', $._expression))),
    member: $ => prec(binding.part, seq($._expression, '.', field('member', choice($._attribute_name, $.word_with_underscore)))),
    index: $ => prec(binding.part, seq(
      $._expression, '[', choice($._expression, seq(optional($._expression), ':', optional($._expression))), ']')),
    list_of: $ => prec(binding.part, seq($._expression, '[', ']')),
    call: $ => prec(binding.part, seq(
      field('function', $._expression), '(', list(choice($._expression, $.named_argument)), ')')),
    attributes: $ => prec(binding.part, seq($._expression, '[', list1(choice($.named_argument, $.spread)), ']')),
    spread: $ => seq('...', $.name),
    named_argument: $ => seq(field('name', $._attribute_name), '=', $._expression),
    parenthesized: $ => seq('(', $._expression, ')'),
    list: $ => seq('[', list($._expression), ']'),
    set: $ => seq('{', list($._expression), '}'),
    constant: _ => choice('none', 'true', 'false', 'inf'),

    // Leaves. An operator's domain has dots: `com.acme.Gated`.

    operator: $ => choice($.type_name, seq($._word, repeat1(seq('.', choice($._word, $.word_with_underscore))))),
    word_with_underscore: _ => /_[A-Za-z0-9_]+/,
    _word: $ => choice($.name, $.type_name),
    _attribute_name: $ => choice($.name, $.type_name),
    name: _ => /[a-z][A-Za-z0-9_]*/,
    type_name: _ => /[A-Z][A-Za-z0-9_]*/,
    _numeral: $ => choice($.number, 'inf'),
    _signed_number: $ => seq(optional('-'), $._numeral),
    number: _ => /[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?/,
    string: $ => seq('"', repeat(choice(token.immediate(prec(2, /[^"\\]+/)), $.escape_sequence)), '"'),
    escape_sequence: _ => token.immediate(/\\(.|\n)/),
    doc_comment: _ => token(prec(1, /\/\/\/[^\n]*/)),
    comment: _ => token(/\/\/[^\n]*/),
  },
});
