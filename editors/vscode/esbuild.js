// Bundles the extension into dist/extension.js, and the script of the layout view into dist/layout-page.js.
const { buildSync } = require('esbuild');

const common = { bundle: true, minify: true, legalComments: 'none' };
buildSync({
  ...common,
  entryPoints: ['src/extension.js'],
  outfile: 'dist/extension.js',
  platform: 'node',
  target: 'node18',
  format: 'cjs',
  // The editor provides it.
  external: ['vscode'],
});
buildSync({
  ...common,
  entryPoints: ['src/layout-page.js'],
  outfile: 'dist/layout-page.js',
  platform: 'browser',
  target: 'chrome120',
  format: 'iife',
});
