// The configurations of the debugger, and the words of the tile view.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { casesWithin, configurationOf, expressionAt, problemOf, programWithin } = require('../src/debug-config');
const {
  History, cellAt, changes, choose, controls, coordinate, describe, elementName, legend, momentOf, stateOf, windowAround,
} = require('../src/tile-draw');
const { page } = require('../src/tile-html');

test('a configuration for a test, and one for main', () => {
  assert.deepEqual(configurationOf({ program: '/w/gemm.hx', test: 'gemm.hx::a product[m = 64]' }), {
    type: 'hx', request: 'launch', name: 'Step through a product[m = 64]', program: '/w/gemm.hx', test: 'gemm.hx::a product[m = 64]',
  });
  assert.deepEqual(configurationOf({ program: '/w/gemm.hx' }), {
    type: 'hx', request: 'launch', name: 'Step through main of gemm.hx', program: '/w/gemm.hx',
  });
});

test('the tests at the cursor are those that begin inside of the item', () => {
  const cases = [{ name: 'a', line: 3 }, { name: 'b[0]', line: 9 }, { name: 'b[1]', line: 9 }];
  assert.deepEqual(casesWithin(cases, { first: 9, last: 14 }).map((it) => it.name), ['b[0]', 'b[1]']);
  assert.deepEqual(casesWithin(cases, { first: 4, last: 8 }), []);
});

test('a program is named as in the listing of tests', () => {
  const { posix, win32 } = path;
  assert.equal(programWithin('/w/src/a.hx', '/w', posix), 'src/a.hx');
  assert.equal(programWithin('/other/a.hx', '/w', posix), '/other/a.hx');
  assert.equal(programWithin('src/a.hx', '/w', posix), 'src/a.hx');
  assert.equal(programWithin('/w/..a.hx', '/w', posix), '..a.hx');
  assert.equal(programWithin('/w/a.hx', undefined, posix), '/w/a.hx');
  assert.equal(programWithin('C:\\w\\src\\a.hx', 'C:\\w', win32), 'src/a.hx');
  assert.equal(programWithin('D:\\a.hx', 'C:\\w', win32), 'D:\\a.hx');
});

test('a wrong configuration is refused with its way out', () => {
  assert.equal(problemOf({ program: 'a.hx', block: [0, 1, 0], launch: 1, thread: 0 }), null);
  assert.match(problemOf({}), /names no program: set "program" to an \.hx file/);
  assert.match(problemOf({ program: 'a.py' }), /"program" is a\.py, expected an \.hx file/);
  assert.match(problemOf({ program: 'a.hx', block: [1] }), /"block" is \[1\], expected the index of a block, as in \[3, 1, 0\]/);
  assert.match(problemOf({ program: 'a.hx', launch: 0 }), /"launch" is 0, expected a number from 1/);
  assert.match(problemOf({ program: 'a.hx', thread: '5' }), /"thread" is "5", expected a number from 0/);
});

test('a hover evaluates a name, or an element', () => {
  const text = (line, column) => expressionAt(line, column)?.text;
  assert.equal(text('copy(load(s.T), y);', 10), 's');
  assert.equal(text('let a = s[3, 4] + b;', 11), 's[3, 4]');
  assert.equal(text('let a = s[.., i];', 8), 's');
  assert.equal(text('let a = 1;', 8), undefined);
  assert.equal(text('copy(load(s.T), y);', 6), undefined);
  assert.equal(text('copy(load(s.T), y);', 12), undefined);
  assert.equal(text('    // fills s', 13), undefined);
});

/** A window of 2 × 2 elements of `s`, from [2, 4, 1] on. */
const SHARED = {
  name: 's', memory: 'shared', dtype: 'f16', shape: [4, 128, 3], origin: [2, 4, 1], extents: [2, 2],
  cells: ['1.0', '-', '…', '×'].map((text, at) => ({ text, thread: null, value: null, byte: 2 * at, bank: Math.floor(at / 2) })),
  thread: 0, progress: [7, 40], operation: 'copy(x, s)', place: 'a.hx:3',
};

/** A vector of three elements, two of which thread 33 holds. */
const REGISTER = {
  name: 'v', memory: 'register', dtype: 'f32', shape: [3], origin: [0], extents: [1, 3],
  cells: [[33, 0, '1.0'], [33, 1, '-1.0'], [34, 0, '2.0']].map(([thread, value, text]) => ({ text, thread, value, byte: null, bank: null })),
  thread: 33, progress: [8, 40], operation: null, place: null,
};

test('a cell has a coordinate, and a coordinate a cell', () => {
  assert.deepEqual(coordinate(SHARED, 3), [3, 5, 1]);
  assert.deepEqual(coordinate(REGISTER, 2), [2]);
  assert.equal(cellAt(SHARED, [3, 5, 1]), 3);
  assert.equal(cellAt(SHARED, [3, 5, 2]), null);
  assert.equal(cellAt(SHARED, [3, 6, 1]), null);
  assert.equal(cellAt(REGISTER, [2]), 2);
  assert.equal(cellAt(REGISTER, null), null);
  assert.deepEqual(windowAround([70, 130, 3]), [64, 128, 3]);
  assert.deepEqual(windowAround([200]), [192]);
  assert.equal(elementName(SHARED, 1), 's[2, 5, 1]');
});

test('a cell says its value and its place', () => {
  assert.equal(describe(SHARED, 0), 's[2, 4, 1] = 1.0; byte 0, bank 0');
  assert.equal(describe(SHARED, 1), 's[2, 5, 1] was never written; byte 2, bank 0');
  assert.equal(describe(SHARED, 2), 's[3, 4, 1] is being filled by a copy; byte 4, bank 1');
  assert.equal(describe(SHARED, 3), 's[3, 5, 1] is overwritten by another tensor; byte 6, bank 1');
  assert.equal(describe(REGISTER, 1), 'v[1] = -1.0; value 1 of thread 33 (warp 1, lane 1)');
  const held = { ...REGISTER, cells: [{ text: '3', thread: null, value: null, byte: null, bank: null }], extents: [1, 1] };
  assert.equal(describe({ ...held, memory: 'global' }, 0), 'v[0] = 3');
  assert.deepEqual(SHARED.cells.map(stateOf), ['value', 'unwritten', 'filling', 'foreign']);
});

test('an element is marked if it changed since the last stop', () => {
  const history = new History();
  const at = (step, ...texts) => ({ ...SHARED, progress: [step, 40], cells: texts.map((text) => ({ text })) });
  assert.equal(history.take(at(7, '-', '-')), null);
  const next = at(9, '1.0', '-');
  const before = history.take(next);
  assert.deepEqual([before.step, [...changes(before, next)]], [7, [0]]);
  // The same step: another thread is followed, and the marks stay.
  assert.equal(history.take(next), before);
  assert.equal(history.take(at(12, '1.0', '2.0')).step, 9);
  assert.deepEqual(changes(null, next), new Set());
  history.clear();
  assert.equal(history.take(next), null);
});

test('the tensor that is shown first', () => {
  const tensors = [
    { name: 'r', memory: 'register' },
    { name: 's', memory: 'shared' },
    { name: 'x', memory: 'global' },
    { name: 'y', memory: 'global' },
  ];
  const name = (wanted) => choose(tensors, wanted)?.name;
  const [x, y] = [{ name: 'x', memory: 'global' }, { name: 'y', memory: 'global' }];
  assert.equal(name({}), 's');
  assert.equal(name({ remembered: y }), 'y');
  assert.equal(name({ remembered: y, fault: 'reads element 3 of the tensor `x`, which `copy(s)` writes' }), 'x');
  assert.equal(name({ chosen: y, remembered: x, fault: 'reads `x`' }), 'y');
  assert.equal(name({ shown: x, remembered: y, operation: 'copy(r, y)' }), 'x');
  assert.equal(name({ operation: 'copy(r[0..4], y)' }), 'r');
  assert.equal(name({ chosen: { name: 'gone', memory: 'shared' } }), 's');
  assert.equal(choose([], {}), null);
});

test('each part of a large tensor can be reached', () => {
  assert.deepEqual(
    controls({ shape: [4, 128, 3], origin: [0, 64, 1], extents: [4, 64] }).map(({ kind, text, back, next }) => [kind, text, back, next]),
    [['columns', '64–127 of 128', 0, null], ['slice', '1 of 3', 0, 2]],
  );
  assert.deepEqual(controls({ shape: [64, 64], origin: [0, 0], extents: [64, 64] }), []);
  assert.deepEqual(
    controls({ shape: [256], origin: [128], extents: [1, 64] }).map(({ kind, text, back, next }) => [kind, text, back, next]),
    [['columns', '128–191 of 256', 64, 192]],
  );
});

test('the legend has an entry for each thing in the picture', () => {
  assert.deepEqual(legend(SHARED, { changed: 2, since: 5 }), [
    ['colour', 'a colour for each bank'],
    ['changed', 'changed since step 5: 2'],
    ['unwritten', 'never written'],
    ['filling', 'a copy fills it'],
    ['foreign', 'the memory holds another tensor'],
  ]);
  assert.deepEqual(legend(REGISTER, { changed: 0, since: undefined }), [
    ['colour', 'a colour for each thread'],
    ['mine', 'held by thread 33'],
  ]);
  assert.deepEqual(momentOf(REGISTER), { step: 'step 8 of 40', operation: 'between operations', thread: 'thread 33' });
});

test('the page of the tile view loads its own script and nothing else', () => {
  const html = page({ nonce: 'n', script: 'tile-page.js' });
  assert.match(html, /default-src 'none'; style-src 'nonce-n'; script-src 'nonce-n'/);
  assert.match(html, /<script nonce="n" src="tile-page.js">/);
  assert.doesNotMatch(html, /https?:| style=/);
});
