// Texts that are shown and not edited, with the editor played by a stub.

const assert = require('node:assert/strict');
const Module = require('node:module');
const { test } = require('node:test');

class EventEmitter {
  #listeners = [];
  event = (listener) => this.#listeners.push(listener);
  fire = (value) => this.#listeners.forEach((listener) => listener(value));
  dispose() {}
}

/** An editor that opens documents through the providers that were registered, and in no other way. */
function editor() {
  const closed = new EventEmitter();
  const providers = {};
  const vscode = {
    EventEmitter,
    Uri: { from: ({ scheme, path, query }) => ({ scheme, toString: () => `${scheme}:${path}?${query}` }) },
    ViewColumn: { Beside: -2 },
    languages: {
      getLanguages: async () => ['plaintext', 'hx-ptx'],
      setTextDocumentLanguage: async (document, language) => {
        closed.fire(document);
        document.languageId = language;
      },
    },
    window: { showTextDocument: async () => {} },
    workspace: {
      textDocuments: [],
      registerTextDocumentContentProvider: (scheme, provider) => {
        providers[scheme] = provider;
        provider.onDidChange((uri) => {
          const document = vscode.workspace.textDocuments.find((it) => String(it.uri) === String(uri));
          if (document) document.text = provider.provideTextDocumentContent(uri);
        });
      },
      onDidCloseTextDocument: closed.event,
      openTextDocument: async (uri) => {
        let document = vscode.workspace.textDocuments.find((it) => String(it.uri) === String(uri));
        if (!document) {
          const text = providers[uri.scheme].provideTextDocumentContent(uri);
          document = { uri, text, languageId: 'plaintext' };
          vscode.workspace.textDocuments.push(document);
        }
        return document;
      },
    },
  };
  const close = (document) => {
    vscode.workspace.textDocuments.splice(vscode.workspace.textDocuments.indexOf(document), 1);
    closed.fire(document);
  };
  return { vscode, close };
}

test('a text is a document of its own scheme, and follows what is set', async () => {
  const { vscode, close } = editor();
  const load = Module._load;
  Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
  const { ReadOnlyTexts } = require('../src/read-only');
  Module._load = load;
  const gone = [];
  const texts = new ReadOnlyTexts('hx-text', (address) => gone.push(address));
  const uri = texts.address('why.txt', 'file:///k.hx');
  await texts.show(uri, 'because', 'hx-ptx');
  const [document] = vscode.workspace.textDocuments;
  assert.deepEqual([document.uri.scheme, document.text, document.languageId], ['hx-text', 'because', 'hx-ptx']);
  // Another language is no close.
  assert.deepEqual(gone, []);
  texts.set(uri, 'for another reason');
  assert.equal(document.text, 'for another reason');
  await texts.show(uri, 'again');
  assert.equal(vscode.workspace.textDocuments.length, 1);
  assert.equal(document.text, 'again');
  close(document);
  assert.deepEqual(gone, [String(uri)]);
});

test('no command opens a document that can be edited', () => {
  const fs = require('node:fs');
  const path = require('node:path');
  const folder = path.join(__dirname, '..', 'src');
  for (const file of fs.readdirSync(folder)) {
    const text = fs.readFileSync(path.join(folder, file), 'utf8');
    assert.ok(!/openTextDocument\(\{|untitled:/.test(text), `${file} opens an untitled document`);
  }
});
