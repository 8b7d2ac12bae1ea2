const assert = require('node:assert/strict');
const { test } = require('node:test');
const { image, svg } = require('../src/picture');
const { Lines, explanation, failure, jsonLines, runArguments, splitName, tree } = require('../src/tests');

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
      { primary: false, label: '', path: 'w.hx', start: { line: 1, column: 1 }, end: { line: 1, column: 2 } },
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
    message: diagnostic.message,
    notes: diagnostic.children.map((child) => child.message),
    comparison: { at: '[64, 0]', actual: '4.5', expected: '3.0' },
    others: [],
  });
  const unwritten = { message: 'm', children: [{ message: 'first at [0]: got unwritten memory, expected -1.87' }] };
  assert.deepEqual(failure(unwritten).comparison, { at: '[0]', actual: 'unwritten memory', expected: '-1.87' });
  assert.equal(failure({ message: 'a race' }).comparison, null);
});

test('a picture of the wrong elements', () => {
  const picture = { lines: ['·██', '··○'], scale: [8, 4], legend: '' };
  assert.equal(
    svg(picture),
    '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="16">' +
      '<rect x="0" y="0" width="8" height="8" fill="#8886"/><rect x="8" y="0" width="16" height="8" fill="#e5534b"/>' +
      '<rect x="0" y="8" width="16" height="8" fill="#8886"/><rect x="16" y="8" width="8" height="8" fill="#c69026"/></svg>',
  );
  assert.match(image(picture), /each box is 8 × 4 elements; grey: right, red: wrong, yellow: unwritten memory$/);
});

test('a failed comparison in Markdown', () => {
  const picture = { lines: ['··██', '··██'], scale: [8, 4], legend: 'each character is 8 rows by 4 columns: · right, █ wrong' };
  const found = failure({
    message: '8 of 16 elements are not equal',
    spans: [
      { primary: true, label: '', path: 'k.hx', start: { line: 9, column: 5 }, end: { line: 9, column: 9 } },
      {
        primary: false,
        label: 'block [0, 1] reads `x[0..8, 0..8]`',
        path: 'k.hx',
        start: { line: 4, column: 3 },
        end: { line: 4, column: 8 },
      },
    ],
    children: [{ message: 'wrong: columns 8..16' }, { message: `${picture.legend}\n··██\n··██` }],
  });
  assert.equal(
    explanation(found, picture, (place) => `${place.path}#${place.start.line}`),
    [
      '8 of 16 elements are not equal',
      '',
      image(picture),
      '',
      '- wrong: columns 8..16',
      '',
      '- [line 4](k.hx#3): block [0, 1] reads `x[0..8, 0..8]`',
    ].join('\n'),
  );
});

test('arguments of a run', () => {
  const run = { files: ['a.hx'], names: ['a.hx::x[1]'], device: 'auto', debug: false };
  assert.deepEqual(runArguments(run), ['test', 'a.hx', '--format', 'json', '--exact', 'a.hx::x[1]']);
  assert.deepEqual(runArguments({ ...run, watch: true }).slice(0, 5), ['test', 'a.hx', '--format', 'json', '--watch']);
  const debug = runArguments({ ...run, device: 'cuda', debug: true });
  assert.deepEqual(debug.slice(-3), ['--device', 'sim', '--nocapture']);
});
