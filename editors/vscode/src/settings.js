// The settings of the server, from those of the editor. Knows nothing of the editor but how to get a value.

/** What the server takes as `initializationOptions`; `theme` is `light` or `dark`. */
function serverSettings(get, theme) {
  const settings = {
    theme,
    // `code-pages.js` provides them.
    codePages: 'hx-explain:/{code}.md',
    drawings: get('drawings'),
    inlayHints: { layouts: get('inlayHints.layouts'), instructions: get('inlayHints.instructions') },
    lenses: { run: get('lenses.run'), costs: get('lenses.costs'), code: get('lenses.code') },
  };
  // What is empty is left to the project.
  for (const name of ['target', 'nvrtc']) {
    const value = get(name);
    if (value) settings[name] = value;
  }
  return settings;
}

module.exports = { serverSettings };
