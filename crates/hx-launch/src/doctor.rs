//! `hx doctor`: lists the parts that the machine has, and what each missing part disables.

use hx_inspect::Setup;
use hx_worker::protocol::{DeviceInfo, ProbeReport};
use hx_worker::toolkit::{find_cublaslt, find_nvdisasm, find_nvrtc};
use hx_worker::{Absence, Want, WorkerClient};

use crate::machine::{code_on, probe};

/// Whether a part was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Good,
    /// The part is missing, and some feature does not work without it.
    Missing,
}

/// The result for one part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub part: &'static str,
    pub state: State,
    /// Version and place, or the reason why it is missing.
    pub text: String,
    /// For a missing part: what its absence disables, where it was searched for, and what would help. For a device, and for the
    /// costs of other commands: which costs estimates follow.
    pub details: Vec<String>,
}

impl Finding {
    fn good(part: &'static str, text: impl Into<String>) -> Finding {
        Finding { part, state: State::Good, text: text.into(), details: Vec::new() }
    }

    fn missing(part: &'static str, absence: &Absence, disables: &str) -> Finding {
        let mut details = vec![format!("without it: {disables}")];
        if !absence.looked_in.is_empty() {
            details.push(format!("looked in: {}", absence.looked_in.join("; ")));
        }
        details.extend(absence.help.as_ref().map(|help| format!("help: {help}")));
        Finding { part, state: State::Missing, text: absence.reason.clone(), details }
    }
}

const WITHOUT_GPU: &str = "kernels run on the simulator only (`--device sim`), benches do not run";

/// Looks for every part that hx can use. This starts the worker process.
pub fn doctor(setup: &Setup, version: &str) -> Vec<Finding> {
    let mut out = vec![Finding::good("hx", version.to_owned())];
    let nvrtc_files = find_nvrtc(&setup.search);
    let mut worker = WorkerClient::new(setup.worker.clone());
    match probe(&mut worker, nvrtc_files.as_ref().ok()) {
        Ok(report) => gpu(setup, &report, nvrtc_files.as_ref().err(), &mut out),
        Err(error) => {
            let absence = Absence::new(hx_worker::Component::Driver, error.to_string());
            out.push(Finding::missing("worker", &absence, "nothing is compiled for a GPU, and none is used"));
        }
    }
    out.push(match find_cublaslt(&setup.search) {
        Ok(path) => Finding::good("cublaslt", format!("`{}`", path.display())),
        Err(absence) => {
            Finding::missing("cublaslt", &absence, "`cublas::gemm`, the baseline of matrix products")
        }
    });
    out.push(match find_nvdisasm(&setup.search) {
        Ok(path) => Finding::good("nvdisasm", format!("`{}`", path.display())),
        Err(absence) => Finding::missing("nvdisasm", &absence, "`--emit sass`"),
    });
    out.push(cache(setup));
    out.push(costs(setup));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    out.push(Finding::good("simulator", format!("{threads} threads, standing for {}", setup.target)));
    out
}

/// Adds what the worker found: the driver, the devices, and the CUDA compiler. `searched` is the reason why the files of the
/// compiler were not found.
fn gpu(setup: &Setup, report: &ProbeReport, searched: Option<&Absence>, out: &mut Vec<Finding>) {
    out.push(match &report.driver {
        Ok(driver) => {
            let (major, minor) = driver.cuda_version;
            Finding::good("driver", format!("takes CUDA up to {major}.{minor}"))
        }
        Err(absence) => Finding::missing("driver", absence, WITHOUT_GPU),
    });
    match &report.devices {
        Ok(devices) => out.extend(devices.iter().map(|info| device(setup, info))),
        // Without a driver there are no devices: its own finding is enough.
        Err(absence) if report.driver.is_ok() => out.push(Finding::missing("device", absence, WITHOUT_GPU)),
        Err(_) => {}
    }
    out.push(match &report.nvrtc {
        Ok(nvrtc) => {
            let (major, minor) = nvrtc.version;
            Finding::good("nvrtc", format!("{major}.{minor}, `{}`", nvrtc.library.display()))
        }
        Err(absence) => {
            let absence = searched.unwrap_or(absence);
            Finding::missing("nvrtc", absence, "`--emit ptx|sass`, and GPU kernels that are not in the cache")
        }
    });
}

fn device(setup: &Setup, device: &DeviceInfo) -> Finding {
    let (major, minor) = device.capability;
    let gib = device.memory_bytes as f64 / (1u64 << 30) as f64;
    let code = code_on(device, setup);
    let made_for = match &code {
        Ok(code) => {
            let target = code.costs.target;
            match code.want {
                Want::Cubin => format!("kernels are made for {target}"),
                Want::Ptx => {
                    format!("the GPU is newer than this build: the driver translates PTX for {target}")
                }
            }
        }
        Err(error) => error.message.clone(),
    };
    let text = format!(
        "cuda:{} {}, {major}.{minor}, {} SMs, {gib:.0} GiB; {made_for}",
        device.ordinal, device.name, device.multiprocessors
    );
    let mut finding = Finding::good("device", text);
    if let Ok(code) = code {
        finding.details.push(format!("costs: {}, {}", code.costs.target.costs(), code.costs.source));
        finding.details.extend(code.costs.warnings);
    }
    finding
}

/// Returns the costs that commands without a GPU use.
fn costs(setup: &Setup) -> Finding {
    let text = format!("{}, {}", setup.target.costs(), setup.costs_source());
    let mut finding = Finding::good("costs", text);
    finding.details.extend(
        setup.target.caveat().map(|caveat| format!("kernels for {} are estimated {caveat}", setup.target)),
    );
    finding
}

fn cache(setup: &Setup) -> Finding {
    let Some(cache) = &setup.cache else {
        let absence =
            Absence::new(hx_worker::Component::Nvrtc, "there is no home folder; HX_CACHE_DIR names one");
        return Finding::missing("cache", &absence, "every kernel is compiled anew");
    };
    let dir = cache.dir().display();
    match writable(cache.dir()) {
        Ok(()) => {
            let size = cache.size();
            Finding::good("cache", format!("`{dir}`, {} kernels, {} KiB", size.entries, size.bytes / 1024))
        }
        Err(error) => {
            let absence =
                Absence::new(hx_worker::Component::Nvrtc, format!("`{dir}` cannot be used: {error}"));
            Finding::missing("cache", &absence, "every kernel is compiled anew")
        }
    }
}

/// Checks that the folder can be made and written to, with a file that is removed again.
#[expect(clippy::disallowed_methods, reason = "the check is about the folder of the disk")]
fn writable(dir: &std::path::Path) -> std::io::Result<()> {
    hx_worker::own_files::create_folder(dir)?;
    hx_worker::own_files::check_owner(&std::fs::metadata(dir)?).map_err(std::io::Error::other)?;
    hx_worker::own_files::try_writing(dir)
}
