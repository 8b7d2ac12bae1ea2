import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fragmentOf, textOf } from '../src/share.js';

test('a fragment holds a text', async () => {
  const text = `// ⟨µ⟩ 𝄞\n${'kernel k() grid [1] threads 32 {}\n'.repeat(200)}`;
  const fragment = await fragmentOf(text);
  assert.match(fragment, /^#code=[A-Za-z0-9_-]+$/);
  assert.ok(fragment.length < 200, `${fragment.length} characters`);
  assert.equal(await textOf(fragment), text);
});

test('other fragments hold none, and a damaged one says so', async () => {
  assert.equal(await textOf(''), null);
  assert.equal(await textOf('#a-race'), null);
  await assert.rejects(textOf('#code=@@'));
  await assert.rejects(textOf('#code=AAAA'));
});

test('a link that unfolds to a huge text is refused', async () => {
  const fragment = await fragmentOf('x'.repeat((1 << 20) + 1));
  assert.ok(fragment.length < 2000);
  await assert.rejects(textOf(fragment), /longer than/);
});
