//! `hx cache` and `hx clean`: show and remove what is kept between runs.

use std::path::Path;

use hx_driver::History;
use hx_worker::{Cache, CacheSize};

use crate::Exit;
use crate::cli::{CacheArgs, CacheVerb, TargetArgs};
use crate::output::Output;

/// Shows the cache of the current project, or empties it.
pub(crate) fn run(args: &CacheArgs, output: &Output) -> Exit {
    let cache = match cache(output) {
        Ok(cache) => cache,
        Err(exit) => return exit,
    };
    match args.verb {
        None => {
            output.result(&format!("{}\n{}\n", cache.dir().display(), size_text(cache.size())));
            Exit::Good
        }
        Some(CacheVerb::Clear) => clear(&cache, output),
    }
}

/// Removes the files that hx keeps between runs: compiled kernels, the history of failed tests, times that `hx tune` measured, and
/// choices between the members of families.
pub(crate) fn clean(output: &Output) -> Exit {
    let cache = match cache(output) {
        Ok(cache) => cache,
        Err(exit) => return exit,
    };
    let exit = clear(&cache, output);
    match cleared(cache.dir()) {
        Err(reason) => {
            output.placeless_parts(&hx_base::codes::IO_ERROR, &reason, &[], &[]);
            Exit::Bad
        }
        Ok(()) => exit,
    }
}

fn cleared(folder: &Path) -> Result<(), String> {
    History::clear(folder)?;
    hx_driver::tune::clear(folder)?;
    hx_launch::clear_choices(folder)
}

fn clear(cache: &Cache, output: &Output) -> Exit {
    match cache.clear() {
        Ok(removed) => {
            output.remark(&format!("removed {}", size_text(removed)));
            Exit::Good
        }
        Err(warning) => {
            output.placeless_parts(&hx_base::codes::IO_ERROR, &warning.to_string(), &[], &[]);
            Exit::Bad
        }
    }
}

fn cache(output: &Output) -> Result<Cache, Exit> {
    let manifest = super::project_here(&mut hx_workspace::Database::default(), output)?;
    let setup = super::setup(None, &TargetArgs::default(), manifest.as_ref(), output)?;
    setup.cache.ok_or_else(|| {
        output.usage("there is no folder for a cache: set HX_CACHE_DIR");
        Exit::Environment
    })
}

fn size_text(size: CacheSize) -> String {
    let s = if size.entries == 1 { "" } else { "s" };
    format!("{} kernel{s}, {:.1} MiB", size.entries, size.bytes as f64 / f64::from(1 << 20))
}
