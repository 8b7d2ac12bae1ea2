// The extension: starts the server, and shows what it answers. All knowledge of the language is the server's.

const vscode = require('vscode');
const { Server } = require('./server');
const { CodeView } = require('./code-view');
const { Debugger } = require('./debug');
const { LayoutView } = require('./layout-view');
const { StatusBar } = require('./status-bar');
const { CodePages } = require('./code-pages');
const { Tests } = require('./test-explorer');
const { TileView } = require('./tile');
const { ReadOnlyTexts } = require('./read-only');
const { registerCommands } = require('./commands');

/** @param {vscode.ExtensionContext} context */
async function activate(context) {
  const server = new Server();
  const code = new CodeView(server);
  const layout = new LayoutView(server, context.extensionUri);
  const status = new StatusBar(server);
  const pages = new CodePages(server);
  const tests = new Tests(server);
  const stepper = new Debugger(server, tests);
  const tile = new TileView(context);
  const texts = new ReadOnlyTexts('hx-text');
  context.subscriptions.push(server, code, layout, status, pages, tests, stepper, tile, texts);
  registerCommands(context, { server, code, layout, status, pages, tests, stepper, tile, texts });
  await server.start();
  tests.discover();
  // For tests of the extension itself.
  return { server, tests };
}

module.exports = { activate, deactivate() {} };
