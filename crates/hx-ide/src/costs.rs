//! The resources of a multiprocessor that kernels use, as an editor shows them.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange};
use hx_compile::{Db, Resources, resources};
use hx_hir::{Item, Kernel, file_items, signature_source_map};
use hx_target::Arch;

use crate::emit::CudaText;
use crate::solved::Solved;
use crate::{Cancellable, Shown, catch, kernel};

/// Returns the registers per thread that ptxas reported for a text, if a compile of it is known. Never compiles.
pub type Reported<'a> = &'a dyn Fn(&CudaText) -> Option<u32>;

/// The costs of the instance of a kernel that is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Costs {
    pub kernel: String,
    /// The range of the kernel's name.
    pub range: TextRange,
    pub arch: Arch,
    /// All compile-time arguments as text, including defaults.
    pub args: BTreeMap<String, String>,
    pub resources: Resources,
}

/// Returns the costs of one kernel of a file, or of all its kernels. Kernels with errors are left out.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request. The inner error is a sentence: the file has no such kernel.
pub fn costs(
    db: &dyn Db,
    file: SourceFile,
    name: Option<&str>,
    shown: &Shown,
    reported: Reported<'_>,
) -> Cancellable<Result<Vec<Costs>, String>> {
    catch(|| {
        let kernels: Vec<Kernel<'_>> = match name {
            Some(name) => vec![kernel::find(db, file, Some(name), None)?],
            None => file_items(db, file).kernels().collect(),
        };
        Ok(kernels.into_iter().filter_map(|kernel| of_kernel(db, kernel, shown, reported)).collect())
    })
}

pub(crate) fn of_kernel(
    db: &dyn Db,
    kernel: Kernel<'_>,
    shown: &Shown,
    reported: Reported<'_>,
) -> Option<Costs> {
    let solved = Solved::of(db, kernel, shown)?;
    let source = hx_compile::cuda_source(db, solved.instance).as_ref().ok()?;
    let reported = reported(&CudaText::of(db, kernel, source, shown));
    let name = signature_source_map(db, Item::Kernel(kernel))?.name?;
    Some(Costs {
        kernel: kernel.name(db).to_string(),
        range: name + kernel.offset(db),
        arch: shown.arch,
        args: solved.lowered.args.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
        resources: resources(db, solved.instance, reported)?,
    })
}
