// Serves a folder to this machine, to try the page: `node serve.js [FOLDER] [PORT]`.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
};

/** A server of the folder; the caller lets it listen. */
export function serve(folder) {
  const root = path.resolve(folder);
  return http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    let file = path.join(root, decodeURIComponent(pathname));
    if (file.endsWith(path.sep)) file = path.join(file, 'index.html');
    const inside = file === root || file.startsWith(root + path.sep);
    if (!inside || !fs.existsSync(file) || !fs.statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream', 'cache-control': 'no-store' });
    fs.createReadStream(file).pipe(response);
  });
}

if (process.argv[1] === import.meta.filename) {
  const [folder = 'dist', port = '8000'] = process.argv.slice(2);
  serve(folder).listen(Number(port), '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`));
}
