//! The main loop of the worker: one reply for each request, until the client closes the pipe.
//!
//! A separate thread reads the requests. It notices even during a hanging kernel that the client is gone, so that no worker is
//! left running.

use std::any::Any;
use std::io::{BufReader, BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use hx_worker::frame::{Frame, FrameError};
use hx_worker::protocol::{
    Absence, Component, Hello, NvrtcFiles, NvrtcInfo, PROTOCOL_VERSION, ProbeReport, RemoteError, Reply,
    ReplyEnvelope, Request, RequestEnvelope,
};

use crate::gpu::Gpus;
use crate::nvrtc::Nvrtc;

/// The time after which a request is aborted when the client is gone.
const ORPHAN_TIME: Duration = Duration::from_secs(2);

/// Answers requests from `input` on `output` until `input` ends. Returns exit code 0 then, and 1 if the input violates the
/// protocol or the output cannot be written.
pub fn serve(input: impl Read + Send + 'static, output: impl Write) -> ExitCode {
    let mut output = BufWriter::new(output);
    let hello = Frame::new(&Hello { protocol: PROTOCOL_VERSION }, Vec::new());
    if hello.and_then(|frame| Ok(frame.write_to(&mut output)?)).is_err() {
        return ExitCode::FAILURE;
    }
    let finished = Arc::new(AtomicBool::new(false));
    let frames = read_frames(input, Arc::clone(&finished));
    let mut worker = Worker { nvrtc: None, gpus: Gpus::default() };
    let code = loop {
        let frame = match frames.recv() {
            Ok(Ok(frame)) => frame,
            Ok(Err(FrameError::Closed)) | Err(_) => break ExitCode::SUCCESS,
            Ok(Err(_)) => break ExitCode::FAILURE,
        };
        let Ok(RequestEnvelope { id, request }) = frame.parse() else { break ExitCode::FAILURE };
        let (reply, blobs) = match worker.answer_safely(request, frame.blobs) {
            Ok((reply, blobs)) => (Ok(reply), blobs),
            Err(error) => (Err(error), Vec::new()),
        };
        let reply = Frame::new(&ReplyEnvelope { id, reply }, blobs);
        if reply.and_then(|frame| Ok(frame.write_to(&mut output)?)).is_err() {
            break ExitCode::FAILURE;
        }
    };
    // Device memory and contexts are released before the reading thread is told that the worker has finished.
    drop(worker);
    finished.store(true, Ordering::Release);
    code
}

/// Reads frames on a thread that keeps running while the others hang: in a kernel, in a compile, or in the constructor of a
/// library.
///
/// A constructor runs under the loader's lock. A thread needs that lock for its first thread-local value with a destructor, and a
/// waiting channel has such a value. Therefore this thread waits only for its input and for the clock.
fn read_frames(
    input: impl Read + Send + 'static,
    finished: Arc<AtomicBool>,
) -> Receiver<Result<Frame, FrameError>> {
    // The channel is unbounded, so that sending never waits. The client sends one request at a time.
    let (deliver, frames) = channel();
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        loop {
            let frame = Frame::read_from(&mut input);
            let last = frame.is_err();
            if deliver.send(frame).is_err() || last {
                break;
            }
        }
        let left = Instant::now();
        while !finished.load(Ordering::Acquire) {
            if left.elapsed() > ORPHAN_TIME {
                // A request is running for which no client waits. An orderly exit could wait for it too.
                std::process::abort();
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    frames
}

type Answer = Result<(Reply, Vec<Vec<u8>>), RemoteError>;

struct Worker {
    nvrtc: Option<Nvrtc>,
    gpus: Gpus,
}

impl Worker {
    /// Answers a request, and turns a panic into an error. cudarc panics if a driver lacks a symbol.
    fn answer_safely(&mut self, request: Request, blobs: Vec<Vec<u8>>) -> Answer {
        catch_unwind(AssertUnwindSafe(|| self.answer(request, blobs))).unwrap_or_else(|panic| {
            Err(RemoteError::BadRequest(format!("the worker panicked: {}", text_of(&*panic))))
        })
    }

    fn answer(&mut self, request: Request, blobs: Vec<Vec<u8>>) -> Answer {
        let done = |()| (Reply::Done, Vec::new());
        match request {
            Request::Probe { nvrtc } => Ok((Reply::Probe(Box::new(self.probe(nvrtc))), Vec::new())),
            Request::Warm { device } => self.gpus.warm(device).map(done),
            Request::Compile { nvrtc, job } => {
                let nvrtc = self.nvrtc(&nvrtc)?;
                let (code, log) = nvrtc.compile(&job)?;
                Ok((Reply::Compiled { log, nvrtc_version: nvrtc.version() }, vec![code]))
            }
            Request::Launch(launch) => {
                let (outputs, blobs, gpu_ms) = self.gpus.launch(&launch, &blobs)?;
                Ok((Reply::Launched { outputs, gpu_ms }, blobs))
            }
            Request::Run { device, steps } => self.gpus.run(device, &steps, &blobs).map(done),
            Request::Time { device, works, plan } => {
                let gpu_ms = self.gpus.time(device, &works, &plan, &blobs)?;
                Ok((Reply::Timed { gpu_ms }, Vec::new()))
            }
            Request::Alloc { device, bytes } => {
                let buffer = self.gpus.alloc(device, bytes)?;
                Ok((Reply::Allocated { buffer }, Vec::new()))
            }
            Request::Upload { buffer, offset, data } => {
                let data =
                    blobs.get(data).ok_or_else(|| RemoteError::BadRequest("no bytes to write".to_owned()))?;
                self.gpus.upload(buffer, offset, data).map(done)
            }
            Request::Fill { buffer, pattern } => {
                let pattern = blobs
                    .get(pattern)
                    .ok_or_else(|| RemoteError::BadRequest("no bytes to fill with".to_owned()))?;
                self.gpus.fill(buffer, pattern).map(done)
            }
            Request::Download { buffer, offset, bytes } => {
                let data = self.gpus.download(buffer, offset, bytes)?;
                Ok((Reply::Downloaded, vec![data]))
            }
            Request::Free { buffer } => self.gpus.free(buffer).map(done),
        }
    }

    fn probe(&mut self, nvrtc: Option<NvrtcFiles>) -> ProbeReport {
        let (driver, devices) = self.gpus.probe();
        let nvrtc = match nvrtc {
            None => Err(Absence::new(Component::Nvrtc, "the library was not found")),
            Some(files) => match self.nvrtc(&files) {
                Ok(nvrtc) => Ok(NvrtcInfo { version: nvrtc.version(), library: files.library }),
                Err(RemoteError::Absent(absence)) => Err(absence),
                Err(other) => Err(Absence::new(Component::Nvrtc, other.to_string())),
            },
        };
        ProbeReport { driver, devices, nvrtc }
    }

    fn nvrtc(&mut self, files: &NvrtcFiles) -> Result<&Nvrtc, RemoteError> {
        let loaded = match self.nvrtc.take() {
            Some(loaded) if loaded.files() == files => loaded,
            Some(other) => {
                let reason = format!("this worker has loaded `{}` already", other.files().library.display());
                self.nvrtc = Some(other);
                return Err(RemoteError::BadRequest(reason));
            }
            None => Nvrtc::load(files).map_err(RemoteError::Absent)?,
        };
        Ok(self.nvrtc.insert(loaded))
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a reason").to_owned()
}
