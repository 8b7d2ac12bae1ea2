// Commands: those of the palette, and those that the server's lenses carry.

const vscode = require('vscode');
const { argumentsText, parseArguments } = require('./chosen');

const STAGES = [
  ['cuda', 'CUDA C++ with inline PTX'],
  ['ptx', 'what the CUDA compiler makes of it'],
  ['sass', 'the instructions of the machine'],
  ['layouts', 'layouts, instructions and reasons'],
  ['tile', 'the tile program'],
  ['thread', 'the thread program'],
  ['constraints', 'what the solver was asked'],
];

/** The editor with an `.hx` file that has, or had, the focus. */
function hxEditor() {
  const active = vscode.window.activeTextEditor;
  if (active?.document.languageId === 'hx') return active;
  const visible = vscode.window.visibleTextEditors.find((it) => it.document.languageId === 'hx');
  if (!visible) vscode.window.showInformationMessage('hx: open an .hx file first.');
  return visible;
}

function registerCommands(context, { server, code, layout, status, pages, tests, stepper, tile, texts }) {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand(name, run));
  const withEditor = (run) => async (...args) => {
    const editor = hxEditor();
    if (editor) await run(editor, ...args);
  };

  command('hx.showLayout', withEditor((editor) => layout.show(editor)));
  command('hx.explainLayout', withEditor((editor) => explain(server, texts, editor)));
  command('hx.showCode', withEditor((editor) => chooseCode(code, editor)));
  for (const [name, stage] of [['hx.showCuda', 'cuda'], ['hx.showPtx', 'ptx'], ['hx.showSass', 'sass']]) {
    command(name, (argument) => showStage(code, stage, argument));
  }
  command('hx.showCosts', (argument) => showCosts(server, argument));
  command('hx.compareStages', withEditor((editor) => compareStages(code, editor)));
  command('hx.compareInstances', withEditor((editor) => compareInstances(server, code, status, editor)));
  command('hx.chooseInstance', withEditor((editor) => chooseInstance(server, editor)));
  command('hx.choose', withEditor((editor) => status.choose(editor, (kernel) => chooseArguments(server, editor, kernel))));
  command('hx.explainCode', () => pages.open(vscode.window.activeTextEditor));
  command('hx.runTest', (argument) => runTest(tests, argument));
  command('hx.step', withEditor((editor) => stepper.step(editor)));
  command('hx.showTile', () => tile.show());
  command('hx.run', (argument) => terminal(server, 'run', argument));
  command('hx.bench', (argument) => terminal(server, 'bench', argument));
  command('hx.doctor', () => terminal(server, 'doctor', {}));
  command('hx.syntaxTree', withEditor((editor) => syntaxTree(server, texts, editor)));
  command('hx.serverStatus', () => showStatus(server));
  command('hx.restart', () => server.restart());
  command('hx.showLog', () => server.log.show());
}

async function explain(server, texts, editor) {
  const place = server.place(editor.document, editor.selection.active);
  const answer = await server.request('hx/explainLayout', place);
  if (answer) await texts.show(texts.address('why.txt', editor.document.uri), answer.text);
  else if (answer === null) vscode.window.showInformationMessage('hx: the cursor is on no tensor with a layout.');
}

async function chooseCode(code, editor) {
  const stage = await askStage('What to show of the kernel at the cursor');
  if (stage) await openStage(code, editor, stage);
}

function openStage(code, editor, stage) {
  return code.open({ document: editor.document, stage, position: editor.selection.active });
}

async function showStage(code, stage, argument) {
  if (!argument) {
    const editor = hxEditor();
    if (editor) await openStage(code, editor, stage);
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(argument.uri));
  await code.open({ document, stage, kernel: argument.kernel });
}

async function showCosts(server, argument) {
  const uri = argument?.uri ?? (hxEditor() && String(hxEditor().document.uri));
  if (!uri) return;
  const kernels = await server.request('hx/costs', { textDocument: { uri }, kernel: argument?.kernel });
  if (!kernels) return;
  const items = kernels.map((it) => ({
    label: it.kernel,
    description: `${it.target}, ${it.threads} threads`,
    detail: it.summary,
  }));
  await vscode.window.showQuickPick(items, { placeHolder: 'Costs of the kernels of this file' });
}

async function chooseInstance(server, editor) {
  const uri = String(editor.document.uri);
  const kernels = await server.request('hx/costs', { textDocument: { uri } });
  if (!kernels || kernels.length === 0) return;
  const items = kernels.map((it) => ({ label: it.kernel, description: argumentsText(it.args), kernel: it }));
  const chosen = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { placeHolder: 'Kernel' });
  if (chosen) await chooseArguments(server, editor, chosen.kernel);
}

async function chooseArguments(server, editor, kernel) {
  const args = await askArguments(`Compile-time arguments of ${kernel.kernel}; nothing for the default instance`, kernel.args);
  if (args) await server.showInstance(String(editor.document.uri), kernel.kernel, args);
}

/** Asks for compile-time arguments. `undefined` if the person withdrew. */
async function askArguments(prompt, proposed) {
  const typed = await vscode.window.showInputBox({
    prompt,
    value: argumentsText(proposed),
    validateInput: (text) => (parseArguments(text) ? null : 'NAME=VALUE, with spaces between'),
  });
  return typed === undefined ? undefined : parseArguments(typed);
}

async function askStage(placeHolder, but = null) {
  const items = STAGES.filter(([label]) => label !== but).map(([label, description]) => ({ label, description }));
  return (await vscode.window.showQuickPick(items, { placeHolder }))?.label;
}

async function compareStages(code, editor) {
  const left = await askStage('The first stage');
  const right = left && (await askStage(`The stage to compare ${left} with`, left));
  if (!right) return;
  await code.compare({ editor, left: { stage: left }, right: { stage: right } });
}

async function compareInstances(server, code, status, editor) {
  const { kernel } = await status.chosen(editor);
  if (!kernel) {
    vscode.window.showInformationMessage('hx: this file has no kernel without errors.');
    return;
  }
  const name = kernel.kernel;
  if (Object.keys(kernel.args ?? {}).length === 0) {
    vscode.window.showInformationMessage(`hx: ${name} has no compile-time parameters, so it has one instance.`);
    return;
  }
  const left = await askArguments(`The first instance of ${name}`, kernel.args);
  const right = left && (await askArguments(`The instance to compare it with`, left));
  const stage = right && (await askStage('The stage to compare'));
  if (!stage) return;
  await code.compare({ editor, kernel: name, left: { stage, args: left }, right: { stage, args: right } });
}

async function runTest(tests, argument) {
  await tests.runNamed(argument);
}

async function terminal(server, verb, argument) {
  const program = await server.program();
  if (!program) return;
  const uri = argument?.uri ? vscode.Uri.parse(argument.uri) : hxEditor()?.document.uri;
  const args = [verb];
  if (verb !== 'doctor') {
    if (!uri) return;
    args.push(uri.fsPath);
    if (argument?.filter) args.push(argument.filter);
  }
  const cwd = uri && vscode.workspace.getWorkspaceFolder(uri)?.uri;
  const task = new vscode.Task(
    { type: 'hx', verb },
    vscode.TaskScope.Workspace,
    `hx ${verb}`,
    'hx',
    new vscode.ProcessExecution(program, args, { cwd: cwd?.fsPath, env: server.environment }),
  );
  await vscode.tasks.executeTask(task);
}

async function syntaxTree(server, texts, editor) {
  const uri = String(editor.document.uri);
  const tree = await server.request('hx/syntaxTree', { textDocument: { uri }, range: null });
  if (tree) await texts.show(texts.address('syntax-tree.txt', uri), tree);
}

async function showStatus(server) {
  const status = await server.request('hx/serverStatus', undefined);
  if (!status) return;
  const items = Object.entries(status).map(([label, value]) => ({
    label,
    description: Array.isArray(value) ? value.join(', ') : String(value),
  }));
  const extra = [{ label: '$(refresh) Restart', run: 'hx.restart' }, { label: '$(output) Show Log', run: 'hx.showLog' }];
  const chosen = await vscode.window.showQuickPick([...items, ...extra], { placeHolder: 'The hx server' });
  if (chosen?.run) vscode.commands.executeCommand(chosen.run);
}

module.exports = { parseArguments, registerCommands };
