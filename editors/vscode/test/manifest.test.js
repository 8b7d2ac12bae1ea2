// The manifest, the grammars and the sources say the same.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');

const root = path.join(__dirname, '..');
const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');
const manifest = JSON.parse(read('package.json'));
const sources = fs.readdirSync(path.join(root, 'src')).map((file) => read(`src/${file}`)).join('\n');

test('every command of the manifest is registered', () => {
  for (const { command } of manifest.contributes.commands) {
    assert.ok(sources.includes(`'${command}'`), `${command} is registered nowhere`);
  }
});

test('every command in a menu or a walkthrough is declared', () => {
  const declared = new Set(manifest.contributes.commands.map((it) => it.command));
  for (const items of Object.values(manifest.contributes.menus)) {
    for (const { command } of items) assert.ok(declared.has(command), command);
  }
  const links = JSON.stringify(manifest.contributes.walkthroughs).matchAll(/command:(hx\.\w+)/g);
  for (const [, command] of links) assert.ok(declared.has(command), command);
});

test('every setting that is read is declared', () => {
  const declared = manifest.contributes.configuration.properties;
  const names = [...sources.matchAll(/\bget\('([a-zA-Z.]+)'\)/g)].map(([, name]) => `hx.${name}`);
  assert.ok(names.length > 8);
  for (const name of names) assert.ok(name in declared, `${name} is not declared`);
});

test('the debugger takes what the adapter takes', () => {
  const [{ type, configurationAttributes, initialConfigurations, configurationSnippets }] = manifest.contributes.debuggers;
  const adapter = fs.readFileSync(path.join(root, '../../crates/hx-debug/src/dap.rs'), 'utf8');
  const [, fields] = /pub struct LaunchArguments \{(.*?)\n\}/s.exec(adapter);
  const taken = [...fields.matchAll(/pub (\w+):/g)].map(([, name]) => name);
  const { properties } = configurationAttributes.launch;
  assert.deepEqual(Object.keys(properties), taken);
  for (const [name, { description }] of Object.entries(properties)) assert.ok(description, name);
  for (const body of [...initialConfigurations, ...configurationSnippets.map((it) => it.body)]) {
    const { name, request, ...own } = body;
    assert.deepEqual([own.type, request, typeof name], [type, 'launch', 'string']);
    for (const key of Object.keys(own)) assert.ok(key === 'type' || key in properties, key);
  }
  assert.ok(manifest.activationEvents.includes(`onDebugResolve:${type}`));
});

test('a folder that is not trusted names no program', () => {
  const { supported, restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  assert.equal(supported, 'limited');
  // Whatever names a program, a library, or variables that lead to one.
  for (const name of ['hx.server.path', 'hx.server.environment', 'hx.nvrtc']) {
    assert.ok(name in manifest.contributes.configuration.properties, name);
    assert.ok(restrictedConfigurations.includes(name), name);
  }
  // A comment of the project in a hover runs no command.
  assert.match(sources, /isTrusted: false/);
});

test('every file of the manifest is there', () => {
  const { languages, grammars, snippets, walkthroughs } = manifest.contributes;
  const files = [
    ...languages.flatMap((it) => (it.configuration ? [it.configuration] : [])),
    ...grammars.map((it) => it.path),
    ...snippets.map((it) => it.path),
    ...walkthroughs.flatMap((it) => it.steps.map((step) => step.media.markdown)),
  ];
  for (const file of files) assert.ok(fs.existsSync(path.join(root, file)), file);
});

/** Every regular expression of a grammar. */
function* expressions(rule) {
  for (const [key, value] of Object.entries(rule)) {
    if (['match', 'begin', 'end', 'while'].includes(key) && typeof value === 'string') yield value;
    else if (typeof value === 'object' && value !== null) yield* expressions(value);
  }
}

test('the grammars are sound', () => {
  for (const { path: file, scopeName } of manifest.contributes.grammars) {
    const grammar = JSON.parse(read(file));
    assert.equal(grammar.scopeName, scopeName);
    const included = [...JSON.stringify(grammar).matchAll(/"include":"#([^"]+)"/g)].map(([, name]) => name);
    for (const name of included) assert.ok(name in grammar.repository, `${file}: #${name}`);
    // What Oniguruma has and JavaScript writes differently.
    for (const source of expressions(grammar)) new RegExp(source.replaceAll('\\G', '').replaceAll('(?i:', '(?:'));
  }
});

test('snippets are sound', () => {
  for (const [name, { prefix, body }] of Object.entries(JSON.parse(read('snippets/hx.json')))) {
    assert.ok(prefix && body, name);
    assert.ok([].concat(body).join('\n').includes('$'), `${name} has no place to type`);
  }
});
