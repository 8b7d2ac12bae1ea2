// Launch configurations of the debugger, from tests and paths. Knows nothing of the editor.

const path = require('node:path');

/** A launch configuration for a test of a file, or for the file's `main` if there is no test. */
function configurationOf({ program, test = null }) {
  const name = test ? `Step through ${test.slice(test.indexOf('::') + 2)}` : `Step through main of ${path.basename(program)}`;
  return { type: 'hx', request: 'launch', name, program, ...(test ? { test } : {}) };
}

/**
 * The tests that begin inside of a range of lines, counted from 0. `cases` are those of one file.
 * @param {{name: string, line: number}[]} cases
 */
function casesWithin(cases, { first, last }) {
  return cases.filter(({ line }) => first <= line && line <= last);
}

/**
 * The path of a program as `hx test --list` prints it: relative to the folder that the adapter runs in, with `/` on every system.
 * A file outside of the folder keeps its absolute path.
 */
function programWithin(program, folder, { relative, isAbsolute, sep } = path) {
  if (!folder || !isAbsolute(program)) return program;
  const within = relative(folder, program);
  const isOutside = within === '' || within === '..' || within.startsWith(`..${sep}`) || isAbsolute(within);
  return isOutside ? program : within.split(sep).join('/');
}

/** The reason why a configuration cannot start, with a way out; null if it can. */
function problemOf({ program, block, launch, thread }) {
  if (!program) return 'the launch configuration names no program: set "program" to an .hx file, such as "${file}"';
  if (!program.endsWith('.hx')) return `"program" is ${program}, expected an .hx file`;
  const isIndex = (number) => Number.isInteger(number) && number >= 0;
  if (block !== undefined && !(Array.isArray(block) && block.length === 3 && block.every(isIndex))) {
    return `"block" is ${JSON.stringify(block)}, expected the index of a block, as in [3, 1, 0]`;
  }
  if (launch !== undefined && !(isIndex(launch) && launch > 0)) return `"launch" is ${JSON.stringify(launch)}, expected a number from 1`;
  if (thread !== undefined && !isIndex(thread)) return `"thread" is ${JSON.stringify(thread)}, expected a number from 0`;
  return null;
}

/**
 * Finds the expression around a column: a name, with the coordinates of an element behind it if they are numbers. A comment, a function
 * that is called and a member have no value.
 */
function expressionAt(line, column) {
  const [code] = line.split('//');
  for (const found of code.matchAll(/(?<![\w.])[A-Za-z_]\w*(?:\[\s*\d+(?:\s*,\s*\d+)*\s*\])?(?![\w(<])/g)) {
    const [start, end] = [found.index, found.index + found[0].length];
    if (start <= column && column <= end) return { text: found[0], start, end };
  }
  return null;
}

module.exports = { casesWithin, configurationOf, expressionAt, problemOf, programWithin };
