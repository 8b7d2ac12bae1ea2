// What the TextMate grammar makes of code. It needs the packages that are installed for the build.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');

const root = path.join(__dirname, '..');

function packages() {
  try {
    return { textmate: require('vscode-textmate'), oniguruma: require('vscode-oniguruma') };
  } catch {
    return null;
  }
}

const found = packages();
const skip = found ? false : 'vscode-textmate is not installed: `npm install` does';

async function grammar() {
  const { textmate, oniguruma } = found;
  const wasm = fs.readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm'));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (sources) => new oniguruma.OnigScanner(sources),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (scope) => {
      const file = { 'source.hx': 'hx' }[scope];
      const source = path.join(root, `syntaxes/${file}.tmLanguage.json`);
      return file ? textmate.parseRawGrammar(fs.readFileSync(source, 'utf8'), source) : null;
    },
  });
  return registry.loadGrammar('source.hx');
}

let loaded;

/** `text/scope` of every token of a line that is no space, the scope's last part `.hx` left out. */
async function tokens(line) {
  loaded ??= grammar();
  const { tokens } = (await loaded).tokenizeLine(line, null);
  return tokens
    .map(({ startIndex, endIndex, scopes }) => [line.slice(startIndex, endIndex), scopes.at(-1).replace(/\.hx$/, '')])
    .filter(([text]) => text.trim() !== '')
    .map(([text, scope]) => `${text.trim()}/${scope}`);
}

test('a header', { skip }, async () => {
  assert.deepEqual(await tokens('kernel f<BM = 64>(a: shared mut f16[m])'), [
    'kernel/storage.type.function',
    'f/entity.name.function',
    '</keyword.operator.comparison',
    'BM/constant.other.parameter',
    '=/keyword.operator.assignment',
    '64/constant.numeric.integer',
    '>/keyword.operator.comparison',
    '(/source',
    'a/variable.parameter',
    ':/punctuation.separator.label',
    'shared/storage.modifier',
    'mut/storage.modifier',
    'f16/storage.type',
    '[/source',
    'm/variable.other',
    '])/source',
  ]);
});

test('clauses are keywords, and names elsewhere', { skip }, async () => {
  const words = async (line) => (await tokens(line)).filter((it) => /^(where|grid|threads|baseline)\//.test(it));
  assert.deepEqual(await words('where k % 2 == 0 grid [m] threads 128'), [
    'where/keyword.other',
    'grid/keyword.other',
    'threads/keyword.other',
  ]);
  assert.deepEqual(await words('let x = where(threads < grid, baseline, 1);'), [
    'where/support.function',
    'threads/variable.other',
    'grid/variable.other',
    'baseline/variable.other',
  ]);
});

test('numbers, ranges and strings', { skip }, async () => {
  assert.deepEqual(await tokens('x[0..k, 1.5e-3, 0xff]; "a\\n"'), [
    'x/variable.other',
    '[/source',
    '0/constant.numeric.integer',
    '../keyword.operator.range',
    'k/variable.other',
    ',/punctuation.separator',
    '1.5e-3/constant.numeric.float',
    ',/punctuation.separator',
    '0xff/constant.numeric.hex',
    ']/source',
    ';/punctuation.terminator',
    '"/string.quoted.double',
    'a/string.quoted.double',
    '\\n/constant.character.escape',
    '"/string.quoted.double',
  ]);
});
