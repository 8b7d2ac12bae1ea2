// The worker: answers requests with the compiler. One at a time, in the order of their arrival.

import init, { Playground } from '../dist/parts/hx_web.js';

let playground = null;

/** The last line that went to the console as an error: a panic writes its reason there before it ends the module. */
let complaint = '';
const complain = console.error.bind(console);
console.error = (...words) => {
  complaint = words.join(' ');
  complain(...words);
};

const start = async (module) => {
  const wasm = await init({ module_or_path: module });
  // Registers the queries; see build.rs of hx-web.
  wasm.__wasm_call_ctors();
  playground = new Playground();
};

self.onmessage = async ({ data }) => {
  if (data.module) {
    await start(data.module);
    self.postMessage({ ready: true });
    return;
  }
  const { request } = data;
  try {
    const answer = JSON.parse(playground.answer(JSON.stringify(request)));
    self.postMessage({ answer });
  } catch (error) {
    // The module is unusable after a trap: the page starts another worker.
    self.postMessage({ crashed: complaint.split('\n')[0] || String(error) });
  }
};
