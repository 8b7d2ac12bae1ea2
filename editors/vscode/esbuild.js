// Bundles the extension into dist/extension.js, and the scripts of its pages into dist/layout-page.js and dist/tile-page.js.
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
for (const page of ['layout-page', 'tile-page']) {
  buildSync({
    ...common,
    entryPoints: [`src/${page}.js`],
    outfile: `dist/${page}.js`,
    platform: 'browser',
    target: 'chrome120',
    format: 'iife',
  });
}
