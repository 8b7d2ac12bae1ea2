// Completions that keys overtake, with the editor and the server played by stubs.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { isSameWord, provideCompletionItem } = require('../src/completion');

const token = { isCancellationRequested: false };

/** A document of one line, which `type` changes. */
function document(text) {
  return {
    version: 1,
    lineCount: 1,
    lineAt: () => ({ text }),
    type(now) {
      text = now;
      this.version += 1;
    },
  };
}

/** The answer at the end of `text` if the line becomes each of `later`, 20 ms after one another, from the server's answer on. */
async function answer(text, later) {
  const it = document(text);
  const next = async () => {
    later.forEach((now, i) => setTimeout(() => it.type(now), 20 * i));
    return ['staged'];
  };
  return provideCompletionItem(it, { line: 0, character: text.length }, {}, token, next);
}

test('words grow', () => {
  assert.ok(isSameWord('copy(a)', 'copy(ab_2)', 6));
  assert.ok(isSameWord('copy(a)', 'copy(a)', 6));
  assert.ok(!isSameWord('copy(a)', 'copy(a, s)', 6));
  assert.ok(!isSameWord('copy(a)', 'copy(', 6));
  assert.ok(!isSameWord('aa', 'a', 1));
});

test('an answer waits for a pause, and is dropped if the word has ended', async () => {
  assert.deepEqual(await answer('copy(g', []), ['staged']);
  assert.deepEqual(await answer('copy(g', ['copy(ga', 'copy(gam']), ['staged']);
  assert.equal(await answer('copy(g', ['copy(ga', 'copy(ga,', 'copy(ga, s']), undefined);
});

test('a request that is withdrawn waits for nothing', async () => {
  const start = Date.now();
  const next = async () => ['staged'];
  await provideCompletionItem(document('a'), { line: 0, character: 1 }, {}, { isCancellationRequested: true }, next);
  assert.ok(Date.now() - start < 30);
});
