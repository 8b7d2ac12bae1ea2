const assert = require('node:assert/strict');
const { test } = require('node:test');
const { argumentsText, kernelAt, parseArguments, statusDetail, statusText } = require('../src/chosen');
const { fileName, partners: linesOf } = require('../src/code-map');
const { cellsOfThreads, coordinate, describe, describeThread, partners, step } = require('../src/layout-draw');
const { page } = require('../src/layout-html');
const { serverSettings } = require('../src/settings');
const { themeOf } = require('../src/theme');

const MAP = [
  { emitted: 4, source: 8 },
  { emitted: 5, source: 8 },
  { emitted: 7, source: 9 },
  { emitted: 9, source: 8 },
];

test('the lines that belong to a line', () => {
  assert.deepEqual(linesOf(MAP, 'source', 8), [[4, 5], [9, 9]]);
  assert.deepEqual(linesOf(MAP, 'emitted', 7), [[9, 9]]);
  assert.deepEqual(linesOf(MAP, 'source', 1), []);
});

test('names of what is shown', () => {
  assert.equal(fileName({ kernel: 'k', stage: 'cuda', language: 'cuda-cpp' }), 'k.cu');
  assert.equal(fileName({ kernel: 'k', stage: 'layouts', language: 'hx' }), 'k.layouts.txt');
  assert.equal(fileName({ kernel: 'k', stage: 'cuda', language: 'cuda-cpp', args: { T: 'bf16', N: '1/2' } }), 'k T=bf16 N=1∕2.cu');
});

const KERNELS = [
  { kernel: 'first', range: { start: { line: 3 } }, args: {}, threads: 64, summary: 'no shared memory' },
  { kernel: 'second', range: { start: { line: 20 } }, args: { BM: '64', T: 'f16' }, threads: 128, summary: '8 KiB shared' },
];

test('the status bar tells of the kernel at the cursor', () => {
  assert.deepEqual([0, 3, 19, 20, 99].map((line) => kernelAt(KERNELS, line).kernel), ['first', 'first', 'first', 'second', 'second']);
  assert.equal(kernelAt([], 4), null);
  const chosen = { device: 'auto', target: 'sm_90a' };
  assert.equal(statusText({ ...chosen, kernel: KERNELS[1] }), '$(circuit-board) auto · sm_90a · second BM=64 T=f16');
  assert.equal(statusText({ ...chosen, kernel: KERNELS[0] }), '$(circuit-board) auto · sm_90a · first');
  assert.equal(statusText({ ...chosen, kernel: null }), '$(circuit-board) auto · sm_90a');
  assert.match(statusDetail({ ...chosen, kernel: KERNELS[1] }), /`BM=64 T=f16`\n\n128 threads · 8 KiB shared/);
});

test('compile-time arguments as a person writes them', () => {
  assert.deepEqual(parseArguments(' BM=128  T=bf16 '), { BM: '128', T: 'bf16' });
  assert.equal(parseArguments('BM 128'), null);
  assert.equal(argumentsText({ BM: '128', T: 'bf16' }), 'BM=128 T=bf16');
});

test('the kind of a theme', () => {
  assert.deepEqual([1, 2, 3, 4].map(themeOf), ['light', 'dark', 'dark', 'light']);
});

/** Two threads hold four elements; the element at [0, 1] is held by both. */
const CELLS = {
  rows: 2,
  cols: 2,
  rowStep: 2,
  colStep: 2,
  texts: ['T0V0', 'T0V1+', 'T1V0', '·'],
  groups: [0, 0, 1, null],
  owners: [[[0, 0]], [[0, 1], [1, 1]], [[1, 0]], []],
};

const LAYOUT = {
  kernel: 'k',
  tensors: [
    {
      name: 'rc',
      space: 'register',
      dtype: 'f32',
      shape: [64, 64],
      alias: 'C 2×2',
      layout: '((4,8)):((128,1))',
      reason: 'accumulator of `f<32>`',
      forcedBy: { uri: 'file:///k.hx', range: { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } } },
      drawings: [{ kind: 'threads', title: '</script>', ...CELLS }],
    },
  ],
};

test('a layout and its reasons as a page', () => {
  const reasons = { steps: [{ what: 'gemm(rc, a, b)', reason: 'lowest cost', location: null, from: [{ what: 'a < b', reason: null, location: null, from: [] }] }] };
  const html = page({ layout: LAYOUT, reasons, nonce: 'n', script: 'page.js' });
  assert.match(html, /register f32\[64, 64\]/);
  assert.match(html, /accumulator of <code>f&lt;32&gt;<\/code>/);
  assert.match(html, /data-location="\{&quot;uri&quot;/);
  assert.match(html, /<code>a &lt; b<\/code>/);
  // Nothing in the data ends its element.
  assert.equal(html.match(/<\/script>/g).length, 2);
  const drawings = /id="drawings">(.*?)<\/script>/s.exec(html)[1];
  assert.deepEqual(JSON.parse(drawings).tensors, LAYOUT.tensors);
  assert.match(html, /script-src 'nonce-n'/);
  assert.match(html, /<script nonce="n" src="page.js">/);
});

test('the elements that light up', () => {
  const threads = { kind: 'threads', ...CELLS };
  const cells = cellsOfThreads(threads);
  assert.deepEqual(cells, new Map([[0, [0, 1]], [1, [1, 2]]]));
  assert.deepEqual(partners(threads, cells, 0), [0, 1]);
  assert.deepEqual(partners(threads, cells, 3), [3]);
  assert.equal(describe(threads, [2, 2], 2, 2), '[1, 0]: value 0 of thread 1 (warp 0, lane 1), which holds 2 elements');
  assert.match(describe(threads, [2, 2], 1, 2), /^\[0, 1\]: value 1 of thread 0 .*; 1 more hold it too$/);
  assert.equal(describe(threads, [2, 2], 3, 1), '[1, 1]: held by no thread');
  assert.equal(describeThread(40, 0), 'thread 40 holds no element');
  assert.equal(describeThread(40, 1), 'thread 40 (warp 1, lane 8) holds 1 element');
  const banks = { ...CELLS, kind: 'banks', texts: ['0', '1', '1', '0'] };
  assert.deepEqual(partners(banks, new Map(), 3), [0, 3]);
  assert.equal(describe(banks, [2, 2], 3, 2), '[1, 1]: bank 0, which has 2 elements of this tensor');
  assert.equal(describe({ ...banks, kind: 'memory' }, [2, 2], 1, 1), '[0, 1]: at offset 1');
});

test('a cell has a coordinate in the modes of its tensor', () => {
  assert.deepEqual(coordinate({ cols: 12 }, [5, 3, 4], 12 * 2 + 7), [2, 1, 2]);
  assert.deepEqual(coordinate({ cols: 1 }, [5], 3), [3]);
  assert.deepEqual(coordinate({ cols: 5 }, [5], 3), [3]);
});

test('arrow keys stay inside of a drawing', () => {
  const size = { rows: 2, cols: 3 };
  assert.equal(step(size, 0, 'ArrowRight'), 1);
  assert.equal(step(size, 2, 'ArrowRight'), 2);
  assert.equal(step(size, 1, 'ArrowDown'), 4);
  assert.equal(step(size, 1, 'ArrowUp'), 1);
  assert.equal(step(size, 1, 'Enter'), null);
});

test('a layout that is too large is not drawn', () => {
  const layout = { ...LAYOUT, tensors: [{ ...LAYOUT.tensors[0], drawings: [] }] };
  assert.match(page({ layout, reasons: null, nonce: 'n', script: 'page.js' }), /is not drawn/);
});

test('nothing at the cursor', () => {
  assert.match(page({ layout: null, reasons: null, nonce: 'n' }), /Put the cursor on a tensor/);
});

test('settings that are empty are left to the project', () => {
  const values = {
    drawings: 'svg',
    'inlayHints.layouts': true,
    'inlayHints.instructions': false,
    'lenses.run': true,
    'lenses.costs': true,
    'lenses.code': false,
    target: '',
    nvrtc: '/opt/cuda',
  };
  assert.deepEqual(serverSettings((name) => values[name], 'dark'), {
    theme: 'dark',
    codePages: 'hx-explain:/{code}.md',
    drawings: 'svg',
    inlayHints: { layouts: true, instructions: false },
    lenses: { run: true, costs: true, code: false },
    nvrtc: '/opt/cuda',
  });
});
