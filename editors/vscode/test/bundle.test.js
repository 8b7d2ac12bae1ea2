// The built extension starts: with the editor played by a stub, and a toolchain that is not there.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const Module = require('node:module');
const { test } = require('node:test');

const bundle = path.join(__dirname, '..', 'dist', 'extension.js');
const skip = fs.existsSync(bundle) ? false : 'the extension is not built: `npm run build` does';
const manifest = JSON.parse(fs.readFileSync(path.join(__dirname, '..', 'package.json'), 'utf8'));

/** Anything that is called, made or read: a stub of what is not looked at. */
function anything() {
  return new Proxy(function () {}, {
    get: (_, name) => (name === Symbol.toPrimitive ? () => '' : name === 'then' ? undefined : anything()),
    set: () => true,
    apply: () => anything(),
    construct: () => anything(),
  });
}

function editor(registered, settings) {
  const stub = anything();
  const over = (object, parts) => new Proxy(object, { get: (it, name) => (name in parts ? parts[name] : it[name]) });
  return over(stub, {
    commands: over(stub.commands, {
      registerCommand: (name) => {
        registered.add(name);
        return { dispose() {} };
      },
    }),
    workspace: over(stub.workspace, {
      getConfiguration: () => ({ get: (name) => settings[name] }),
      workspaceFolders: [],
      findFiles: async () => [],
    }),
    window: over(stub.window, { showErrorMessage: async () => undefined }),
  });
}

test('it registers every command without a toolchain', { skip }, async () => {
  const registered = new Set();
  const vscode = editor(registered, { 'server.path': '/nowhere/hx' });
  const load = Module._load;
  Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
  try {
    const extension = require(bundle);
    await extension.activate({ subscriptions: [] });
  } finally {
    Module._load = load;
  }
  for (const { command } of manifest.contributes.commands) assert.ok(registered.has(command), command);
});
