// The debugger and the tile view in an editor that is played by a stub.

const assert = require('node:assert/strict');
const Module = require('node:module');
const { test } = require('node:test');

class Position {
  constructor(line) {
    this.line = line;
  }
}

/** An item of the outline, from a line to a line. */
function symbol(name, kind, first, last) {
  const contains = ({ line }) => first <= line && line <= last;
  return { name, kind, range: { start: { line: first }, end: { line: last }, contains } };
}

/** An editor that keeps what is registered in `registered`, and what is said in `said`. */
function editor({ symbols = [], picked = (items) => items[0] } = {}) {
  const [registered, said] = [{}, []];
  const keep = (name) => (...args) => {
    registered[name] = args.at(-1);
    return { dispose() {} };
  };
  const webview = {
    asWebviewUri: (uri) => uri,
    onDidReceiveMessage: keep('message'),
    postMessage: (message) => said.push(message),
  };
  const vscode = {
    EventEmitter: class {},
    SymbolKind: { Module: 1, Boolean: 16 },
    ViewColumn: { Beside: -2 },
    Uri: { joinPath: (base, ...parts) => [base, ...parts].join('/') },
    DebugAdapterExecutable: class {
      constructor(command, args, options) {
        Object.assign(this, { command, args, options });
      }
    },
    commands: { executeCommand: async () => symbols },
    debug: {
      registerDebugAdapterDescriptorFactory: keep('factory'),
      registerDebugConfigurationProvider: keep('provider'),
      registerDebugAdapterTrackerFactory: keep('tracker'),
      onDidTerminateDebugSession: keep('ended'),
      onDidChangeActiveStackItem: keep('stack'),
    },
    languages: { registerEvaluatableExpressionProvider: keep('expression') },
    window: {
      activeTextEditor: null,
      showErrorMessage: (text) => said.push(text),
      showQuickPick: async (items) => picked(items),
      createWebviewPanel: () => ({ webview, onDidDispose: keep('disposed'), reveal() {}, dispose() {} }),
    },
    workspace: { getConfiguration: () => ({ get: (name) => name === 'debug.openTile' }) },
  };
  return { vscode, registered, said };
}

/** Loads a module of the extension with an editor. */
function load(vscode, name) {
  const original = Module._load;
  const needed = ['debug', 'tile', 'server'].map((it) => require.resolve(`../src/${it}`));
  for (const it of needed) delete require.cache[it];
  const client = { LanguageClient: class {}, State: {}, Trace: {} };
  Module._load = (request, ...rest) => {
    if (request === 'vscode') return vscode;
    return request === 'vscode-languageclient/node' ? client : original(request, ...rest);
  };
  try {
    return require(`../src/${name}`);
  } finally {
    Module._load = original;
  }
}

const CASES = [
  { title: 'one', label: '', name: 'a.hx::one', line: 4 },
  { title: 'two', label: '[1]', name: 'a.hx::two[1]', line: 9 },
  { title: 'two', label: '[2]', name: 'a.hx::two[2]', line: 9 },
];

/** The configuration that F5 finds at a line of `a.hx`, and what is said. */
async function found(line, { symbols, cases = CASES, picked }) {
  const { vscode, registered, said } = editor({ symbols, picked });
  const { Debugger } = load(vscode, 'debug');
  new Debugger({}, { cases: async () => cases });
  const document = { languageId: 'hx', uri: { fsPath: '/w/a.hx' } };
  if (line !== null) vscode.window.activeTextEditor = { document, selection: { active: new Position(line) } };
  const config = await registered.provider.resolveDebugConfiguration(undefined, {});
  return { config, said };
}

const TESTS = [symbol('k', 11, 0, 3), symbol('one', 16, 4, 7), symbol('two', 16, 9, 12)];

test('F5 takes the test at the cursor', async () => {
  assert.equal((await found(5, { symbols: TESTS })).config.test, 'a.hx::one');
  // Of several cases, the user chooses one.
  assert.equal((await found(10, { symbols: TESTS, picked: (items) => items[1] })).config.test, 'a.hx::two[2]');
  assert.equal((await found(10, { symbols: TESTS, picked: () => undefined })).config, undefined);
});

test('F5 elsewhere takes main, a test, or says what to do', async () => {
  const { config } = await found(1, { symbols: [...TESTS, symbol('main', 1, 20, 22)] });
  assert.deepEqual(config, { type: 'hx', request: 'launch', name: 'Step through main of a.hx', program: '/w/a.hx' });
  assert.equal((await found(1, { symbols: TESTS, picked: (items) => items[0] })).config.test, 'a.hx::one');
  const none = await found(1, { symbols: [], cases: [] });
  assert.deepEqual([none.config, none.said], [
    undefined,
    ['hx: a.hx has no test and no main to step through: add a test that launches the kernel.'],
  ]);
  assert.deepEqual((await found(null, {})).said, ['hx: open the .hx file of a test to step through it.']);
});

test('the adapter is the toolchain, in the folder that its tests are named in', async () => {
  const { vscode, registered, said } = editor();
  const { Debugger } = load(vscode, 'debug');
  new Debugger({ program: async () => '/bin/hx', environment: { A: '1' } }, {});
  const session = { workspaceFolder: { uri: { fsPath: '/w' } }, configuration: { program: 'src/a.hx' } };
  const { command, args, options } = await registered.factory.createDebugAdapterDescriptor(session);
  assert.deepEqual([command, args, options], ['/bin/hx', ['debug-adapter'], { cwd: '/w', env: { A: '1' } }]);
  const checked = (config) =>
    registered.provider.resolveDebugConfigurationWithSubstitutedVariables({ uri: { fsPath: '/w' } }, config);
  assert.equal(checked({ program: '/w/src/a.hx' }).program, 'src/a.hx');
  assert.equal(checked({ program: '/w/a.txt' }), undefined);
  assert.match(said[0], /expected an \.hx file/);
});

/** A session whose adapter has two tensors, and keeps the requests in `asked`. */
function session(asked, fault) {
  const tensors = [{ name: 'r', memory: 'register' }, { name: 's', memory: 'shared' }];
  const tile = ({ name, memory, origin }) => ({
    name, memory, origin: origin.length ? origin : [0, 0], extents: [64, 64], fault, operation: 'copy(r, s)', cells: [],
  });
  return {
    type: 'hx',
    customRequest: async (request, body) => {
      asked.push([request, body.name ?? body.expression, body.origin]);
      if (request === 'hxTensors') return { tensors };
      return request === 'hxTile' ? tile(body) : { result: 'thread 3 writes `s[70, 1]`\nmore' };
    },
  };
}

const stopped = (reason, text) => ({ type: 'event', event: 'stopped', body: { reason, text } });
const settled = () => new Promise((resolve) => setTimeout(resolve, 80));

test('the tile view follows the stops of a session', async () => {
  const { vscode, registered, said } = editor();
  const { TileView } = load(vscode, 'tile');
  const state = { get: () => undefined, update() {} };
  const view = new TileView({ workspaceState: state, extensionUri: 'x' });
  const asked = [];
  const running = session(asked, { name: 's', coordinate: [70, 1] });
  const tracker = registered.tracker.createDebugAdapterTracker(running);
  tracker.onDidSendMessage(stopped('exception', 'reads element 4481 of the shared tensor `s`'));
  await settled();
  // The fault names the tensor, and an element outside of the first window.
  const shown = said.at(-1);
  assert.deepEqual([shown.tile.name, shown.tile.origin, shown.element], ['s', [64, 0], [70, 1]]);
  assert.equal(shown.fault, 'reads element 4481 of the shared tensor `s`');
  // A command of the page goes to the debug console.
  await registered.message({ command: 'last s[70, 1]' });
  assert.equal(said.at(-1).answer, 'thread 3 writes s[70, 1]');
  assert.deepEqual(asked.at(-1).slice(0, 2), ['evaluate', 'last s[70, 1]']);
  tracker.onDidSendMessage(stopped('goto', 'step 3 of 9'));
  await settled();
  // The answer stays, and so does the window.
  assert.deepEqual([said.at(-1).tile.origin, said.at(-1).fault], [[64, 0], null]);
  assert.ok(!said.slice(-2).some((it) => it.answer === ''));
  await registered.message({ choose: { name: 'r', memory: 'register' } });
  assert.equal(said.at(-1).tile.name, 'r');
  registered.ended(running);
  assert.deepEqual(said.at(-1), { began: true });
  view.dispose();
});
