import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine } from '../src/engine.js';

/** A worker that keeps what it was sent, and answers when it is told. */
class FakeWorker {
  sent = [];
  ended = false;
  postMessage = (message) => this.sent.push(message);
  terminate = () => (this.ended = true);
  answer = (ok) => this.onmessage({ data: { answer: { ok }, milliseconds: 1 } });
  refuse = (error) => this.onmessage({ data: { answer: { error } } });
  crash = (crashed) => this.onmessage({ data: { crashed } });
  get asked() {
    return this.sent.filter(({ request }) => request).map(({ request }) => request.ask);
  }
}

async function engine() {
  const [workers, heard] = [[], []];
  const made = new Engine(() => (workers.push(new FakeWorker()), workers.at(-1)), Promise.resolve('module'), (...words) => heard.push(words));
  const ready = async () => {
    await new Promise(setImmediate);
    workers.at(-1).onmessage({ data: { ready: true } });
  };
  await ready();
  return { made, workers, heard, ready };
}

test('the text goes first, then the most urgent question', async () => {
  const { made, workers } = await engine();
  made.text = 'a';
  const diagnostics = made.ask({ ask: 'diagnostics' });
  const tokens = made.ask({ ask: 'tokens' });
  const [worker] = workers;
  worker.answer(null);
  worker.answer(['token']);
  worker.answer(['finding']);
  assert.deepEqual(worker.asked, ['edit', 'tokens', 'diagnostics']);
  assert.deepEqual([await diagnostics, await tokens], [['finding'], ['token']]);
});

test('a newer text drops what was asked about the older', async () => {
  const { made, workers } = await engine();
  made.text = 'a';
  const old = [made.ask({ ask: 'hints' }), made.ask({ ask: 'diagnostics' })];
  const [worker] = workers;
  worker.answer(null);
  made.text = 'b';
  const hints = made.ask({ ask: 'hints' });
  worker.answer('hints of a');
  assert.equal(worker.sent.at(-1).request.text, 'b');
  worker.answer(null);
  worker.answer('hints of b');
  assert.deepEqual(await Promise.all([...old, hints]), [undefined, undefined, 'hints of b']);
});

test('a newer question of its kind replaces the one that waits', async () => {
  const { made, workers } = await engine();
  made.text = 'a';
  const first = made.ask({ ask: 'hover', at: 1 });
  workers[0].answer(null);
  const [second, third] = [made.ask({ ask: 'hover', at: 2 }), made.ask({ ask: 'hover', at: 3 })];
  workers[0].answer('one');
  workers[0].answer('three');
  assert.deepEqual(await Promise.all([first, second, third]), ['one', undefined, 'three']);
});

test('a reason comes as an error', async () => {
  const { made, workers } = await engine();
  made.text = 'a';
  const asked = made.ask({ ask: 'format' });
  workers[0].answer(null);
  workers[0].refuse('a text with errors of syntax is not formatted');
  await assert.rejects(asked, /not formatted/);
});

test('after a stop and after a crash another worker has the text and the target', async () => {
  const { made, workers, heard, ready } = await engine();
  made.target = 'sm_80';
  made.text = 'a';
  const test = made.ask({ ask: 'test', name: 't' });
  workers[0].answer(null);
  workers[0].answer(null);
  made.stop();
  assert.equal(await test, undefined);
  assert.ok(workers[0].ended);
  await ready();
  const hints = made.ask({ ask: 'hints' });
  workers[1].answer(null);
  workers[1].answer(null);
  assert.deepEqual(workers[1].asked, ['target', 'edit', 'hints']);
  workers[1].crash('index out of bounds');
  await assert.rejects(hints, /the compiler stopped: index out of bounds/);
  assert.deepEqual(heard.find(([event]) => event === 'crashed'), ['crashed', 'index out of bounds']);
  assert.equal(workers.length, 3);
});
