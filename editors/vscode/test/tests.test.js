const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Lines, failure, jsonLines, runArguments, splitName, tree } = require('../src/tests');

const entry = (name, line) => ({ type: 'case', name, place: { path: 'k.hx', line, column: 1 } });

test('names in parts', () => {
  assert.deepEqual(splitName('std/a.hx::rows[1, 2]'), { file: 'std/a.hx', title: 'rows', case: '[1, 2]' });
  assert.deepEqual(splitName('a.hx::x[1]#2'), { file: 'a.hx', title: 'x', case: '[1]#2' });
  assert.deepEqual(splitName('a.hx::plain'), { file: 'a.hx', title: 'plain', case: null });
});

test('a listing becomes a tree', () => {
  const listing = [
    entry('k.hx::copy[64]', 3),
    entry('k.hx::copy[65]', 3),
    entry('k.hx::one', 9),
    { type: 'broken', name: 'l.hx::bad' },
  ];
  assert.deepEqual(tree(listing), [
    {
      file: 'k.hx',
      tests: [
        {
          title: 'copy',
          name: null,
          line: 3,
          column: 1,
          broken: false,
          cases: [
            { label: '[64]', name: 'k.hx::copy[64]' },
            { label: '[65]', name: 'k.hx::copy[65]' },
          ],
        },
        { title: 'one', name: 'k.hx::one', line: 9, column: 1, broken: false, cases: [] },
      ],
    },
    { file: 'l.hx', tests: [{ title: 'bad', name: 'l.hx::bad', line: 1, column: 1, broken: true, cases: [] }] },
  ]);
});

test('a stream in pieces', () => {
  const lines = new Lines();
  assert.deepEqual(lines.push('{"type":"te'), []);
  assert.deepEqual(lines.push('st"}\n\n{"type"'), ['{"type":"test"}', '']);
  assert.deepEqual(lines.end(), ['{"type"']);
  assert.deepEqual(jsonLines('device: simulator\n{"type":"summary"}\n{"broken'), [{ type: 'summary' }]);
});

test('expected and actual of a comparison', () => {
  const diagnostic = {
    message: '2240 of 6720 elements of f16[96, 70] are not within ulp: 1 of the reference',
    spans: [
      { primary: false, path: 'w.hx', start: { line: 1, column: 1 }, end: { line: 1, column: 2 } },
      { primary: true, path: 'w.hx', start: { line: 4, column: 5 }, end: { line: 4, column: 9 } },
    ],
    children: [{ message: 'first at [64, 0]: got 4.5, expected 3.0' }, { message: 'wrong: rows 64..96' }],
  };
  assert.deepEqual(failure(diagnostic), {
    text: [
      diagnostic.message,
      'first at [64, 0]: got 4.5, expected 3.0',
      'wrong: rows 64..96',
    ].join('\n'),
    place: { path: 'w.hx', start: { line: 3, character: 4 }, end: { line: 3, character: 8 } },
    comparison: { at: '[64, 0]', actual: '4.5', expected: '3.0' },
  });
  const unwritten = { message: 'm', children: [{ message: 'first at [0]: got never written, expected -1.87' }] };
  assert.deepEqual(failure(unwritten).comparison, { at: '[0]', actual: 'never written', expected: '-1.87' });
  assert.equal(failure({ message: 'a race' }).comparison, null);
});

test('arguments of a run', () => {
  const run = { files: ['a.hx'], names: ['a.hx::x[1]'], device: 'auto', debug: false };
  assert.deepEqual(runArguments(run), ['test', 'a.hx', '--format', 'json', '--exact', 'a.hx::x[1]']);
  const debug = runArguments({ ...run, device: 'cuda', debug: true });
  assert.deepEqual(debug.slice(-3), ['--device', 'sim', '--nocapture']);
});
