// Bundles the extension into dist/extension.js; `vscode` itself comes from the editor.
require('esbuild').buildSync({
  entryPoints: ['src/extension.js'],
  outfile: 'dist/extension.js',
  bundle: true,
  platform: 'node',
  target: 'node18',
  format: 'cjs',
  external: ['vscode'],
  minify: true,
  legalComments: 'none',
});
