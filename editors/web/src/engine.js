// The page's side of the worker. Requests wait here: those for an older text, and those that a newer one replaces, are dropped.

/** The order in which waiting requests are sent: those that a person waits for come first. */
const URGENCY = { tokens: 0, hover: 1, complete: 1, signature: 1, docs: 1, hints: 2, diagnostics: 3 };
const LEAST_URGENT = 4;

export class Engine {
  #make;
  #module;
  #worker = null;
  #ready = false;
  #text = '';
  /** Counts texts. A request is for the text of its version. */
  #version = 0;
  /** The version of the text that the worker has, and the target that it has; a new one has neither. */
  #sent = null;
  #sentTarget = null;
  /** The chosen target; the worker's own without a choice. */
  #target = null;
  #waiting = [];
  #running = null;
  #crashes = 0;

  /** `make` makes a worker; `module` is a promise of the compiled module. `hear` gets `busy`, `idle`, `ready` and `crashed`. */
  constructor(make, module, hear) {
    Object.assign(this, { hear });
    this.#make = make;
    this.#module = module;
    this.#start();
  }

  get version() {
    return this.#version;
  }

  set text(text) {
    this.#text = text;
    this.#version += 1;
  }

  set target(name) {
    this.#target = name;
    this.#version += 1;
  }

  /** Asks about the newest text. Resolves to the answer, or to `undefined` if the request was dropped; rejects with the reason. */
  ask(request) {
    return new Promise((resolve, reject) => {
      const same = ({ request: other }) => other.ask === request.ask && other.ask !== 'test' && other.ask !== 'docs';
      for (const old of this.#waiting.filter(same)) old.resolve(undefined);
      this.#waiting = this.#waiting.filter((old) => !same(old));
      this.#waiting.push({ request, version: this.#version, resolve, reject });
      this.#send();
    });
  }

  /** Ends what runs, with a new worker. */
  stop() {
    this.#worker.terminate();
    this.#running?.resolve?.(undefined);
    this.#start();
  }

  async #start() {
    this.#ready = false;
    this.#running = null;
    this.#sent = null;
    this.#sentTarget = null;
    const worker = (this.#worker = this.#make());
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (event) => this.#receive({ crashed: event.message });
    try {
      worker.postMessage({ module: await this.#module });
    } catch (error) {
      this.hear('crashed', String(error));
    }
  }

  #receive({ ready, answer, crashed }) {
    if (ready) {
      this.#ready = true;
      this.hear('ready');
    } else if (crashed !== undefined) {
      this.#crashed(crashed);
    } else {
      const { resolve, reject, version } = this.#running;
      this.#running = null;
      this.#crashes = 0;
      if (answer.error !== undefined) reject?.(new Error(answer.error));
      else resolve?.(version === this.#version ? answer.ok : undefined);
    }
    this.#send();
  }

  #crashed(reason) {
    const running = this.#running;
    this.#worker.terminate();
    this.#crashes += 1;
    running?.reject?.(new Error(`the compiler stopped: ${reason}`));
    this.hear('crashed', reason);
    // A text that stops each new worker would start workers for ever: wait for another text.
    if (this.#crashes > 1) this.#waiting.splice(0).forEach(({ resolve }) => resolve(undefined));
    this.#start();
  }

  #send() {
    if (!this.#ready || this.#running) return;
    const stale = this.#waiting.filter(({ version }) => version !== this.#version);
    this.#waiting = this.#waiting.filter(({ version }) => version === this.#version);
    for (const { resolve } of stale) resolve(undefined);
    const urgency = ({ request }) => URGENCY[request.ask] ?? LEAST_URGENT;
    this.#waiting.sort((a, b) => urgency(a) - urgency(b));
    if (this.#waiting.length === 0) {
      this.hear('idle');
      return;
    }
    if (this.#sent !== this.#version) {
      this.#run({ request: this.#order() });
      return;
    }
    this.#run(this.#waiting.shift());
  }

  /** The next order that brings the worker to the newest state: first the target, then the text. */
  #order() {
    if (this.#sentTarget !== this.#target) {
      this.#sentTarget = this.#target;
      return { ask: 'target', name: this.#target };
    }
    this.#sent = this.#version;
    return { ask: 'edit', text: this.#text };
  }

  #run(item) {
    this.#running = item;
    this.hear('busy', item.request.ask);
    this.#worker.postMessage({ request: item.request });
  }
}
