//! A worker that misbehaves in the manner of its first argument or of the variable `HX_FAKE_WORKER`. It needs no CUDA.
//!
//! In the manner `gpu` it has a device and a compiler, and kernels misbehave according to their names: `crash`, `hang`, `fault`,
//! `lost`, `compiler_crash`. Every other kernel leaves its buffers unchanged. The compile of `meetsN` adds a file to the folder
//! that the text names, and ends when there are N files.

#![allow(clippy::disallowed_methods, reason = "a worker for tests writes where it is told")]

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use hx_worker::frame::Frame;
use hx_worker::protocol::{
    Absence, Component, CudaFault, DeviceInfo, DriverInfo, Hello, PROTOCOL_VERSION, ProbeReport, RemoteError,
    Reply, ReplyEnvelope, Request, RequestEnvelope,
};

fn main() -> ExitCode {
    let manner = std::env::args().nth(1).or_else(|| std::env::var("HX_FAKE_WORKER").ok()).unwrap_or_default();
    match serve(&manner) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}

fn serve(manner: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut stdin = io::stdin().lock();
    let mut stdout = io::stdout().lock();
    match manner {
        "noise" => writeln!(stdout, "Usage: hx worker")?,
        "silent" => thread::sleep(Duration::from_secs(600)),
        "other-version" => Frame::new(&Hello { protocol: 99 }, Vec::new())?.write_to(&mut stdout)?,
        _ => Frame::new(&Hello { protocol: PROTOCOL_VERSION }, Vec::new())?.write_to(&mut stdout)?,
    }
    if manner == "deaf" {
        // It reads nothing, so a large request fills the pipe.
        thread::sleep(Duration::from_secs(600));
    }
    while let Ok(frame) = Frame::read_from(&mut stdin) {
        let RequestEnvelope { id, request } = frame.parse()?;
        let id = if manner == "wrong-id" { id + 7 } else { id };
        let reply = answer(manner, &request, frame.blobs.len(), &mut stdout)?;
        let blobs = match &request {
            Request::Compile { .. } => vec![b"code".to_vec()],
            _ => frame.blobs,
        };
        Frame::new(&ReplyEnvelope { id, reply }, blobs)?.write_to(&mut stdout)?;
    }
    Ok(())
}

/// Adds a file to the folder, and waits until it has as many files as the name says: `2.cu`.
fn meet(folder: &Path, name: &str) -> io::Result<()> {
    let wanted: usize = name.trim_end_matches(".cu").parse().map_err(io::Error::other)?;
    std::fs::write(folder.join(std::process::id().to_string()), "")?;
    while std::fs::read_dir(folder)?.count() < wanted {
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Reports a machine with one GPU.
fn gpu() -> ProbeReport {
    let device = DeviceInfo {
        ordinal: 0,
        name: "Fake GPU".to_owned(),
        capability: (9, 0),
        multiprocessors: 1,
        clock_khz: 1_000_000,
        memory_bytes: 1 << 30,
        l2_bytes: 1 << 20,
        shared_bytes_per_block: 227 << 10,
    };
    ProbeReport {
        driver: Ok(DriverInfo { cuda_version: (13, 0) }),
        devices: Ok(vec![device]),
        nvrtc: Err(Absence::new(Component::Nvrtc, "nobody asked")),
    }
}

/// Answers a request. Most manners take effect at `Launch`.
fn answer(
    manner: &str,
    request: &Request,
    blobs: usize,
    stdout: &mut impl Write,
) -> io::Result<Result<Reply, RemoteError>> {
    if let ("gpu", Request::Probe { .. }) = (manner, request) {
        return Ok(Ok(Reply::Probe(Box::new(gpu()))));
    }
    if let ("gpu", Request::Compile { job, .. }) = (manner, request) {
        if job.file_name.contains("compiler_crash") {
            let _ = writeln!(io::stderr(), "the compiler met something it did not expect");
            std::process::abort();
        }
        if std::env::var("CUDA_CACHE_DISABLE").as_deref() != Ok("1") {
            let log = "a real compiler would answer from a cache of its own, without its log".to_owned();
            return Ok(Err(RemoteError::Refused { status: "cached".to_owned(), log }));
        }
        if let Some(count) = job.file_name.strip_prefix("meets") {
            meet(Path::new(&job.source), count)?;
        }
        return Ok(Ok(Reply::Compiled { log: String::new(), nvrtc_version: (13, 0) }));
    }
    if let Request::Launch(launch) = request {
        let manner = match manner {
            "gpu" => ["crash", "hang", "fault", "lost"].into_iter().find(|word| launch.symbol.contains(word)),
            other => Some(other),
        };
        match manner.unwrap_or_default() {
            "crash" => std::process::abort(),
            "lost" => {
                return Ok(Err(RemoteError::Cuda(CudaFault {
                    during: format!("running `{}`", launch.symbol),
                    code: 46,
                    name: "CUDA_ERROR_DEVICE_UNAVAILABLE".to_owned(),
                    text: "CUDA-capable device(s) is/are busy or unavailable".to_owned(),
                    sticky: true,
                })));
            }
            "abort" => std::process::abort(),
            "exit" => {
                let _ = writeln!(io::stderr(), "a library said something\nand gave up");
                std::process::exit(5);
            }
            "hang" => thread::sleep(Duration::from_secs(600)),
            "half" => {
                stdout.write_all(b"hxw1\x40\0\0\0")?;
                stdout.flush()?;
                std::process::exit(0);
            }
            "fault" => {
                return Ok(Err(RemoteError::Cuda(CudaFault {
                    during: "running `k`".to_owned(),
                    code: 700,
                    name: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
                    text: "an illegal memory access was encountered".to_owned(),
                    sticky: true,
                })));
            }
            _ => {}
        }
        // Blob 0 is the cubin if it was sent. Every buffer returns unchanged.
        let outputs = launch.args.iter().enumerate().filter_map(|(at, arg)| match arg {
            hx_worker::protocol::WireArg::Buffer { data, writable: true } => Some((at, *data)),
            _ => None,
        });
        let gpu_ms = if launch.cubin.is_some() { 1.0 } else { 0.5 };
        return Ok(Ok(Reply::Launched { outputs: outputs.collect(), gpu_ms }));
    }
    Ok(match request {
        Request::Probe { .. } => {
            let absence = |component| Absence::new(component, "this worker is a fake");
            Ok(Reply::Probe(Box::new(ProbeReport {
                driver: Err(absence(Component::Driver)),
                devices: Err(absence(Component::Device)),
                nvrtc: Err(absence(Component::Nvrtc)),
            })))
        }
        Request::Alloc { .. } => Ok(Reply::Allocated { buffer: 1 }),
        // The times encode the number of variants and the number of blobs: machine code must be sent once only.
        Request::Time { works, .. } => Ok(Reply::Timed {
            gpu_ms: works.iter().map(|work| vec![work.variants.len() as f32, blobs as f32]).collect(),
        }),
        Request::Download { .. } => Err(RemoteError::BadRequest("the buffer is empty".to_owned())),
        _ => Ok(Reply::Done),
    })
}
