// Bundles the page into dist/, from the parts in dist/parts: the module with its JavaScript, which `cargo xtask site` makes, and the
// examples, which are made here.

import fs from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { examples } from './examples.js';

const here = import.meta.dirname;
const dist = path.join(here, 'dist');
const parts = path.join(dist, 'parts');
fs.mkdirSync(parts, { recursive: true });
fs.writeFileSync(
  path.join(parts, 'examples.js'),
  `// Made by esbuild.js from the book.\nexport const EXAMPLES = ${JSON.stringify(examples(), null, 2)};\n`,
);
buildSync({
  bundle: true,
  minify: true,
  legalComments: 'none',
  entryPoints: ['src/main.js', 'src/worker.js'],
  outdir: 'dist',
  platform: 'browser',
  target: ['chrome120', 'firefox121', 'safari17'],
  format: 'esm',
  absWorkingDir: here,
});
for (const file of ['index.html', 'icon.svg', 'style.css']) fs.copyFileSync(path.join(here, file), path.join(dist, file));
fs.copyFileSync(path.join(parts, 'hx_web_bg.wasm'), path.join(dist, 'hx_web.wasm'));
