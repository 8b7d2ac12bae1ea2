// Values that the browser keeps between visits. A browser may refuse to keep anything: then each visit begins anew.

export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a value; `null` forgets it. */
export function keep(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // The storage is full or forbidden; the page works without it.
  }
}
