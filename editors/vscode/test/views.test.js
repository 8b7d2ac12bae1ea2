const assert = require('node:assert/strict');
const { test } = require('node:test');
const { fileName, partners } = require('../src/code-map');
const { page } = require('../src/layout-html');
const { serverSettings } = require('../src/settings');

const MAP = [
  { emitted: 4, source: 8 },
  { emitted: 5, source: 8 },
  { emitted: 7, source: 9 },
  { emitted: 9, source: 8 },
];

test('the lines that belong to a line', () => {
  assert.deepEqual(partners(MAP, 'source', 8), [[4, 5], [9, 9]]);
  assert.deepEqual(partners(MAP, 'emitted', 7), [[9, 9]]);
  assert.deepEqual(partners(MAP, 'source', 1), []);
});

test('names of what is shown', () => {
  assert.equal(fileName({ kernel: 'k', stage: 'cuda', language: 'cuda-cpp' }), 'k.cu');
  assert.equal(fileName({ kernel: 'k', stage: 'layouts', language: 'hx' }), 'k.layouts.txt');
});

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
      drawings: [{ kind: 'threads', title: 'threads', svg: '<svg onload="x()"/>' }],
    },
  ],
};

test('a layout and its reasons as a page', () => {
  const reasons = { steps: [{ what: 'gemm(rc, a, b)', reason: 'lowest cost', location: null, from: [{ what: 'a < b', reason: null, location: null, from: [] }] }] };
  const html = page({ layout: LAYOUT, reasons, nonce: 'n' });
  assert.match(html, /register f32\[64, 64\]/);
  assert.match(html, /accumulator of <code>f&lt;32&gt;<\/code>/);
  assert.match(html, /data-location="\{&quot;uri&quot;/);
  assert.match(html, /<code>a &lt; b<\/code>/);
  // A drawing is a picture, so that nothing in it runs.
  assert.ok(!html.includes('onload'));
  assert.match(html, /script-src 'nonce-n'/);
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
  assert.deepEqual(serverSettings((name) => values[name]), {
    drawings: 'svg',
    inlayHints: { layouts: true, instructions: false },
    lenses: { run: true, costs: true, code: false },
    nvrtc: '/opt/cuda',
  });
});
