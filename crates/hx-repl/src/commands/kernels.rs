//! Resolves the name of a kernel, or of a tensor in a kernel, in a command.

use hx_hir::{Item, ItemKey, MemorySpace, Pat, PathTarget, Ty, body_of, infer_body, names_in_scope};
use hx_inspect::{Overrides, parse_override};

use crate::session::Session;

/// The arguments of a command: names, and compile-time arguments.
#[derive(Debug)]
pub(super) struct Request {
    pub words: Vec<String>,
    pub overrides: Overrides,
}

impl Request {
    /// Parses `matmul.rc BM=128 all`: a word with `=` is a compile-time argument.
    ///
    /// # Errors
    /// If an argument has no value that can be parsed, as text.
    pub(super) fn new(text: &str) -> Result<Request, String> {
        let (mut words, mut overrides) = (Vec::new(), Overrides::new());
        for word in text.split_whitespace() {
            if word.contains('=') && !word.contains("==") {
                overrides.push(parse_override(word)?);
            } else {
                words.push(word.to_owned());
            }
        }
        Ok(Request { words, overrides })
    }
}

/// The kernel, and possibly the tensor, that an argument of a command may name.
#[derive(Debug)]
pub(super) struct Meant {
    pub kernel: ItemKey,
    pub tensor: Option<String>,
}

impl Session {
    /// Returns the kernel of that name or path. `None` if it means no kernel.
    pub(super) fn kernel(&self, name: &str) -> Option<ItemKey> {
        match self.lookup(name) {
            Some(PathTarget::Item(item @ Item::Kernel(_))) => Some(item.key(&self.db)),
            _ => None,
        }
    }

    /// Returns the kernels that the session can name without a path, newest cells first.
    pub(super) fn kernels(&self) -> Vec<ItemKey> {
        let names = names_in_scope(&self.db, self.scratch(), false);
        names.iter().filter_map(|name| self.kernel(name)).collect()
    }

    /// Returns the names of the register and shared tensors that a kernel's text binds. Does not solve the kernel.
    pub(crate) fn tensors_of(&self, kernel: &ItemKey) -> Vec<String> {
        let db = &self.db;
        let Some(item) = kernel.find(db) else { return Vec::new() };
        let (store, types) = (&body_of(db, item).store, infer_body(db, item));
        let mut names: Vec<String> = Vec::new();
        for (pat, found) in store.pats.iter() {
            let (Pat::Bind(name), Some(Ty::Tensor(tensor))) = (found, types.pats.get(pat)) else { continue };
            if tensor.space != MemorySpace::Global && !names.iter().any(|known| name == known.as_str()) {
                names.push(name.to_string());
            }
        }
        names
    }

    /// Returns the completions of `:layout` and `:why` besides expressions: `TENSOR`, `KERNEL.TENSOR` and `KERNEL`. A tensor
    /// alone belongs to the newest kernel that has it.
    pub(crate) fn tensor_names(&self, typed: &str) -> Vec<String> {
        if let Some((kernel, _)) = typed.rsplit_once('.') {
            let tensors = self.kernel(kernel).map(|key| self.tensors_of(&key)).unwrap_or_default();
            return tensors.into_iter().map(|tensor| format!("{kernel}.{tensor}")).collect();
        }
        let kernels = self.kernels();
        let mut names: Vec<String> = Vec::new();
        let tensors = kernels.iter().flat_map(|kernel| self.tensors_of(kernel));
        for name in tensors.chain(kernels.iter().map(|kernel| kernel.name.to_string())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the readings of `matmul`, `matmul.rc` or `rc`, in the order in which commands try them. `rc` alone may be a tensor
    /// of any kernel.
    pub(super) fn meant(&self, name: &str) -> Vec<Meant> {
        if let Some(kernel) = self.kernel(name) {
            return vec![Meant { kernel, tensor: None }];
        }
        if let Some((kernel, tensor)) = name.rsplit_once('.')
            && let Some(kernel) = self.kernel(kernel)
        {
            return vec![Meant { kernel, tensor: Some(tensor.to_owned()) }];
        }
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let kernels = if is_name { self.kernels() } else { Vec::new() };
        kernels.into_iter().map(|kernel| Meant { kernel, tensor: Some(name.to_owned()) }).collect()
    }
}
