// The examples of the menu: blocks of the book's pages, whose code the tests of the book check, and kernels of the library.

import fs from 'node:fs';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..', '..');
const PAGES = path.join(ROOT, 'book', 'src');

/** Group, title, page, and the number of the block among the `hx` blocks of the page, from 0. */
const BLOCKS = [
  ['First steps', 'Scale a matrix', 'getting-started.md', 1],
  ['First steps', 'A program with main', 'getting-started.md', 0],
  ['First steps', 'Drawn cases', 'testing.md', 1],
  ['First steps', 'A layout conflict', 'tutorial.md', 1],
  ['A matrix product', 'A race', 'tutorial.md', 4],
  ['A matrix product', 'A matrix product', 'tutorial.md', 5],
  ['A matrix product', 'A pipelined product', 'tutorial.md', 6],
  ['Hopper', 'Products of warp groups', 'hopper.md', 0],
  ['Hopper', 'Tiles in boxes', 'hopper.md', 3],
  ['Hopper', 'Roles', 'hopper.md', 4],
  ['Hopper', 'A persistent loop', 'hopper.md', 6],
];

/** Title and file of kernels of the library. */
const LIBRARY = [
  ['Softmax', 'softmax.hx'],
  ['Norms', 'norm.hx'],
  ['Transpose', 'transpose.hx'],
  ['Attention', 'attention.hx'],
  ['Attention for Hopper', 'attention_hopper.hx'],
];

/** The `hx` blocks of a page, with included files in place of their names. */
function blocks(page) {
  const text = fs.readFileSync(path.join(PAGES, page), 'utf8');
  return [...text.matchAll(/^```hx[^\n]*\n([\s\S]*?)^```$/gm)].map(([, block]) => {
    const included = block.match(/^\{\{#include (.*)\}\}\s*$/);
    return included ? fs.readFileSync(path.resolve(PAGES, included[1]), 'utf8') : block;
  });
}

const example = (group, title, text) => ({ group, id: title.toLowerCase().replace(/[^a-z0-9]+/g, '-'), title, text });

/** The texts of the menu, each with the name that a link uses. */
export function examples() {
  const ofBook = BLOCKS.map(([group, title, page, at]) => {
    const text = blocks(page)[at];
    if (text === undefined) throw new Error(`${page} has no block ${at} for the example \`${title}\``);
    return example(group, title, text);
  });
  const ofLibrary = LIBRARY.map(([title, file]) =>
    example('The library', title, fs.readFileSync(path.join(ROOT, 'std', file), 'utf8')),
  );
  return [...ofBook, ...ofLibrary];
}
