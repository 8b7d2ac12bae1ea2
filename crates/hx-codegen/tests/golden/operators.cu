error: the catalogue has no row `+ of f16`
