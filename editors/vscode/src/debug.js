// The debugger: starts the adapter `hx debug-adapter`, and finds what to step through at the cursor.

const path = require('node:path');
const vscode = require('vscode');
const { casesWithin, configurationOf, expressionAt, problemOf, programWithin } = require('./debug-config');

const TYPE = 'hx';

class Debugger {
  #server;
  #tests;
  #disposables;

  constructor(server, tests) {
    this.#server = server;
    this.#tests = tests;
    const provider = {
      resolveDebugConfiguration: (folder, config) => this.#completed(config),
      resolveDebugConfigurationWithSubstitutedVariables: (folder, config) => checked(folder, config),
    };
    this.#disposables = [
      vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, {
        createDebugAdapterDescriptor: (session) => this.#adapter(session),
      }),
      vscode.debug.registerDebugConfigurationProvider(TYPE, provider),
      vscode.languages.registerEvaluatableExpressionProvider('hx', { provideEvaluatableExpression }),
    ];
  }

  /** The process of a session. It runs in the workspace folder, because a test is named relative to it. */
  async #adapter(session) {
    const program = await this.#server.program();
    if (!program) throw new Error('the hx toolchain was not found: set hx.server.path, or see “hx: Show Log”');
    const cwd = session.workspaceFolder?.uri.fsPath ?? path.dirname(session.configuration.program);
    return new vscode.DebugAdapterExecutable(program, ['debug-adapter'], { cwd, env: this.#server.environment });
  }

  /** Completes the empty configuration of F5 without a launch.json. */
  async #completed(config) {
    if (config.type || config.request || config.name) return config;
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== 'hx') {
      vscode.window.showErrorMessage('hx: open the .hx file of a test to step through it.');
      return undefined;
    }
    return this.#configurationAt(editor);
  }

  /** Steps through the test at the cursor. Without a test at the cursor, through the `main` of the file. */
  async step(editor) {
    const config = await this.#configurationAt(editor);
    if (!config) return;
    await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(editor.document.uri), config);
  }

  async #configurationAt({ document, selection }) {
    const cases = await this.#tests.cases(document.uri);
    const program = document.uri.fsPath;
    const symbols = (await vscode.commands.executeCommand('vscode.executeDocumentSymbolProvider', document.uri)) ?? [];
    const around = symbols.find((it) => it.range.contains(selection.active));
    const here = around ? casesWithin(cases, { first: around.range.start.line, last: around.range.end.line }) : [];
    const test = (it) => it && configurationOf({ program, test: it.name });
    if (here.length > 0) return test(await chooseCase(here, `The case of “${here[0].title}” to step through`));
    // The server names `main` by its keyword.
    if (symbols.some((it) => it.kind === vscode.SymbolKind.Module && it.name === 'main')) return configurationOf({ program });
    if (cases.length > 0) return test(await chooseCase(cases, 'The cursor is in no test: choose one to step through'));
    const file = path.basename(program);
    vscode.window.showErrorMessage(`hx: ${file} has no test and no main to step through: add a test that launches the kernel.`);
    return undefined;
  }

  dispose() {
    for (const it of this.#disposables) it.dispose();
  }
}

/** Asks for one of several tests or cases. The only one needs no question. */
async function chooseCase(cases, placeHolder) {
  if (cases.length === 1) return cases[0];
  const items = cases.map((it) => ({ label: `${it.title}${it.label}`, name: it.name }));
  return vscode.window.showQuickPick(items, { placeHolder });
}

/** Checks a configuration whose variables are replaced. */
function checked(folder, config) {
  const problem = problemOf(config);
  if (problem) {
    vscode.window.showErrorMessage(`hx: ${problem}.`);
    return undefined;
  }
  return { ...config, program: programWithin(config.program, folder?.uri.fsPath) };
}

/** The expression that a hover evaluates: a name, or an element as in `s[3, 4]`. */
function provideEvaluatableExpression(document, position) {
  const found = expressionAt(document.lineAt(position.line).text, position.character);
  if (!found) return undefined;
  const range = new vscode.Range(position.line, found.start, position.line, found.end);
  return new vscode.EvaluatableExpression(range, found.text);
}

module.exports = { Debugger, TYPE };
