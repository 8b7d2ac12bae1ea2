//! A run of the worker process: its pipes, its threads, its end.
//!
//! Reading, writing and the collection of standard error each have a thread, so that the caller never blocks longer than its
//! deadline. If a worker reads nothing or writes nothing, the request ends at the deadline instead of blocking on a full pipe.
//! This module knows frames, not messages.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::frame::{Frame, FrameError};
use crate::limits::Budget;

/// The interval at which a waiting client checks for cancellation.
const POLL: Duration = Duration::from_millis(5);
/// The time that an idle worker may take to release its devices. Under compute-sanitizer that takes seconds.
pub(crate) const FAREWELL: Duration = Duration::from_secs(10);
/// The number of bytes of the worker's standard error that are kept.
const STDERR_TAIL: usize = 8 << 10;

/// The command that starts a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The path of the executable, or a name to look up on `PATH`.
    pub program: PathBuf,
    /// The arguments before the client's requests, which travel through pipes.
    pub args: Vec<OsString>,
    /// Variables added to the environment.
    pub env: Vec<(OsString, OsString)>,
}

impl WorkerCommand {
    /// Makes a command without arguments and variables.
    pub fn new(program: impl Into<PathBuf>) -> WorkerCommand {
        WorkerCommand { program: program.into(), args: Vec::new(), env: Vec::new() }
    }

    /// Returns the command with one more argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> WorkerCommand {
        self.args.push(arg.into());
        self
    }

    /// Returns the command with one more environment variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> WorkerCommand {
        self.env.push((name.into(), value.into()));
        self
    }
}

/// The reason why waiting for a frame ended without one.
#[derive(Debug)]
pub(crate) enum WaitError {
    Closed,
    Broken(String),
    Deadline,
    Cancelled,
}

/// A running worker, with the threads of its pipes.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    outgoing: Option<Sender<Frame>>,
    incoming: Receiver<Result<Frame, FrameError>>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    stderr_thread: Option<JoinHandle<()>>,
    reaped: bool,
}

impl Process {
    pub(crate) fn spawn(command: &WorkerCommand) -> Result<Process, String> {
        let mut builder = Command::new(program_path(&command.program)?);
        // Compiled code records the compiler's current folder, which must not depend on where `hx` was started.
        #[cfg(unix)]
        builder.current_dir("/");
        // If a driver is installed, NVRTC uses its cache, and a result from the cache has no log: the registers and the spills of a kernel
        // would be unknown. Kernels are loaded as machine code, so the driver has nothing else to cache.
        builder.env("CUDA_CACHE_DISABLE", "1");
        builder.args(&command.args).envs(command.env.iter().map(|(name, value)| (name, value)));
        builder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The worker gets its own process group: Ctrl-C at a prompt must reach the prompt only, which decides about the worker.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut builder, 0);
        let mut child = builder.spawn().map_err(|error| error.to_string())?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("its pipes are missing".to_owned());
        };
        let (outgoing, to_write) = channel::<Frame>();
        thread::spawn(move || {
            // A failed write means that the worker is gone. The reading side reports that, with the exit status.
            while let Ok(frame) = to_write.recv() {
                if frame.write_to(&mut stdin).is_err() {
                    break;
                }
            }
        });
        let (deliver, incoming) = channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let frame = Frame::read_from(&mut stdout);
                let last = frame.is_err();
                if deliver.send(frame).is_err() || last {
                    break;
                }
            }
        });
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&tail);
        let stderr_thread = thread::spawn(move || keep_tail(stderr, &kept));
        Ok(Process {
            child,
            outgoing: Some(outgoing),
            incoming,
            stderr: tail,
            stderr_thread: Some(stderr_thread),
            reaped: false,
        })
    }

    /// Queues a frame. Never blocks.
    pub(crate) fn send(&self, frame: Frame) {
        if let Some(outgoing) = &self.outgoing {
            // The writing thread ends only with the worker, which the next wait reports.
            let _ = outgoing.send(frame);
        }
    }

    /// Waits for the next frame, at the longest until the deadline of the budget.
    pub(crate) fn wait_frame(&self, budget: &Budget<'_>) -> Result<Frame, WaitError> {
        loop {
            if budget.is_cancelled() {
                return Err(WaitError::Cancelled);
            }
            let left = budget.left();
            match self.incoming.recv_timeout(left.min(POLL)) {
                Ok(Ok(frame)) => return Ok(frame),
                Ok(Err(FrameError::Malformed(reason))) => return Err(WaitError::Broken(reason)),
                Ok(Err(FrameError::Closed | FrameError::Io(_))) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(WaitError::Closed);
                }
                Err(RecvTimeoutError::Timeout) if left <= POLL => return Err(WaitError::Deadline),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Ends the worker: closes its input, and kills it if it does not end in time. Returns how it ended.
    pub(crate) fn end(&mut self, patience: Duration) -> String {
        self.outgoing = None;
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if start.elapsed() < patience => thread::sleep(Duration::from_millis(2)),
                Ok(None) | Err(_) => {
                    let _ = self.child.kill();
                    break self.child.wait().ok();
                }
            }
        };
        self.reaped = true;
        status.map_or_else(|| "it could not be waited for".to_owned(), describe)
    }

    /// Returns the last lines of standard error. Call it after [`Process::end`].
    pub(crate) fn stderr_tail(&mut self) -> String {
        if let Some(thread) = self.stderr_thread.take() {
            // The wait is bounded, because a grandchild may keep the pipe open.
            let start = Instant::now();
            while !thread.is_finished() && start.elapsed() < Duration::from_millis(200) {
                thread::sleep(Duration::from_millis(2));
            }
        }
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            self.end(FAREWELL);
        }
    }
}

/// Runs a program to its end and returns its output. The program is killed if it exceeds the budget.
///
/// # Errors
/// The reason, if it cannot be started, does not end in time, or is cancelled.
pub(crate) fn output_within(command: &mut Command, budget: &Budget<'_>) -> Result<Output, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let (deliver, written) = channel();
    // A full pipe would keep the program from ending, so both pipes are read while it runs.
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for (index, pipe) in pipes.into_iter().enumerate() {
        let deliver = deliver.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // If reading fails, the bytes read so far are the output.
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            let _ = deliver.send((index, bytes));
        });
    }
    let mut read = [None, None];
    let ended = loop {
        if read.iter().all(Option::is_some) {
            match child.try_wait() {
                Ok(None) => thread::sleep(POLL.min(budget.left())),
                ended => break ended.map_err(|error| error.to_string()),
            }
        } else if let Ok((index, bytes)) = written.recv_timeout(POLL.min(budget.left())) {
            let index: usize = index;
            read[index] = Some(bytes);
        }
        if budget.is_cancelled() {
            break Err("it was given up".to_owned());
        }
        if budget.left().is_zero() {
            break Err(format!("it did not end within {} s", budget.deadline().as_secs_f64()));
        }
    };
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let [stdout, stderr] = read.map(Option::unwrap_or_default);
    let status = ended?.ok_or("it did not end")?;
    Ok(Output { status, stdout, stderr })
}

/// Makes a path to a program absolute, so that it stays valid in the worker's folder. A bare name stays for the lookup on PATH.
fn program_path(program: &Path) -> Result<PathBuf, String> {
    if program.components().count() > 1 {
        return std::path::absolute(program).map_err(|error| error.to_string());
    }
    Ok(program.to_owned())
}

fn keep_tail(mut stderr: ChildStderr, tail: &Mutex<VecDeque<u8>>) {
    let mut chunk = [0u8; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&chunk[..count]);
        let excess = tail.len().saturating_sub(STDERR_TAIL);
        tail.drain(..excess);
    }
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}{}", signal_name(signal));
    }
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}

#[cfg(unix)]
fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        7 => " (bus error)",
        8 => " (arithmetic error)",
        9 => " (killed)",
        11 => " (segmentation fault)",
        15 => " (terminated)",
        _ => "",
    }
}
