//! The client: typed requests with a deadline, and a fresh worker after each death.
//!
//! A request that crashes the worker, or that does not end in time, becomes a [`WorkerError`]; the next request starts
//! a new worker. Device buffers do not survive that, which [`WorkerError::LostBuffer`] says.
//! The client does not retry by itself: what crashed once tends to crash again, and the caller decides.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::error::WorkerError;
use crate::frame::Frame;
use crate::log;
use crate::process::{FAREWELL, Process, WaitError, WorkerCommand};
use crate::protocol::{
    Blob, CompileJob, Compiled, Hello, LaunchRequest, NvrtcFiles, PROTOCOL_VERSION, ProbeReport, RemoteError,
    Reply, ReplyEnvelope, Request, RequestEnvelope, Want, WireArg,
};

/// How long a dying worker may take to be gone before it is killed.
const DEATH: Duration = Duration::from_secs(2);

/// How long a request may take, and how to give it up earlier.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The time for the whole request, the start of a worker included.
    pub deadline: Duration,
    /// Polled while waiting; true stops the worker.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl Limits<'static> {
    /// A deadline without cancellation.
    pub fn within(deadline: Duration) -> Limits<'static> {
        Limits { deadline, cancelled: &|| false }
    }
}

/// The limits of a request that has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget<'a> {
    limits: Limits<'a>,
    start: Instant,
}

impl<'a> Budget<'a> {
    pub(crate) fn of(limits: &Limits<'a>) -> Budget<'a> {
        Budget { limits: *limits, start: Instant::now() }
    }

    /// The time left; zero when it is up.
    pub(crate) fn left(&self) -> Duration {
        self.limits.deadline.saturating_sub(self.start.elapsed())
    }

    /// The time for the whole request.
    pub(crate) fn deadline(&self) -> Duration {
        self.limits.deadline
    }

    /// Whether the caller gave up.
    pub(crate) fn is_cancelled(&self) -> bool {
        (self.limits.cancelled)()
    }
}

/// Device memory that lives as long as its worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    session: u64,
    id: u64,
    bytes: u64,
}

impl Buffer {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg<'a> {
    /// A pointer to fresh device memory that holds `data`; its content comes back when `writable`.
    Buffer {
        /// The bytes.
        data: &'a [u8],
        /// Whether the kernel may write it.
        writable: bool,
    },
    /// A pointer into device memory allocated before.
    Resident {
        /// The allocation.
        buffer: Buffer,
        /// Bytes from its start.
        offset: u64,
    },
    /// Parameter bytes by value, little endian.
    Value(Vec<u8>),
}

impl Arg<'_> {
    /// A 32-bit integer by value.
    pub fn i32(value: i32) -> Self {
        Arg::Value(value.to_le_bytes().to_vec())
    }

    /// A 64-bit integer by value.
    pub fn i64(value: i64) -> Self {
        Arg::Value(value.to_le_bytes().to_vec())
    }

    /// An f32 by value.
    pub fn f32(value: f32) -> Self {
        Arg::Value(value.to_le_bytes().to_vec())
    }

    /// An f64 by value.
    pub fn f64(value: f64) -> Self {
        Arg::Value(value.to_le_bytes().to_vec())
    }
}

/// A kernel launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch<'a> {
    /// Ordinal of the device.
    pub device: u32,
    /// The machine code; sent to each worker once.
    pub cubin: &'a [u8],
    /// Name of the kernel in it.
    pub symbol: &'a str,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Blocks of a cluster in x, y, z; `[1, 1, 1]` for none.
    pub cluster: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Parameters in order.
    pub args: Vec<Arg<'a>>,
}

/// What a launch left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchResult {
    /// The content of each writable buffer, by the position of its argument.
    pub outputs: BTreeMap<usize, Vec<u8>>,
    /// Time on the device, in milliseconds.
    pub gpu_ms: f32,
}

/// The bytes of a request, and where in them new machine code lies.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    pub(crate) blobs: Vec<Vec<u8>>,
    /// By device and hash.
    pub(crate) modules: BTreeMap<(u32, String), Blob>,
}

/// The owner of a worker process.
#[derive(Debug)]
pub struct WorkerClient {
    command: WorkerCommand,
    session: Option<Session>,
    starts: u64,
}

/// One life of the worker, and what it knows already.
#[derive(Debug)]
struct Session {
    process: Process,
    number: u64,
    next_id: u64,
    modules: BTreeSet<(u32, String)>,
    nvrtc: Option<NvrtcFiles>,
}

impl WorkerClient {
    /// A client; the process starts with the first request.
    pub fn new(command: WorkerCommand) -> WorkerClient {
        WorkerClient { command, session: None, starts: 0 }
    }

    /// How many workers were started so far.
    pub fn starts(&self) -> u64 {
        self.starts
    }

    /// True while a worker is there. It may have died since the last answer.
    pub fn is_running(&self) -> bool {
        self.session.is_some()
    }

    /// Ends the worker and waits until it is gone; the next request starts a new one.
    pub fn stop(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.process.end(FAREWELL);
        }
    }

    /// Starts the worker now instead of with the first request.
    pub fn start(&mut self, limits: &Limits<'_>) -> Result<(), WorkerError> {
        self.session(&Budget::of(limits)).map(|_| ())
    }

    /// What the machine has.
    pub fn probe(
        &mut self,
        nvrtc: Option<&NvrtcFiles>,
        limits: &Limits<'_>,
    ) -> Result<ProbeReport, WorkerError> {
        self.keep_one_nvrtc(nvrtc);
        match self.call(
            "probing the machine",
            Request::Probe { nvrtc: nvrtc.cloned() },
            Vec::new(),
            &Budget::of(limits),
        )? {
            (Reply::Probe(report), _) => Ok(*report),
            (other, _) => Err(self.unexpected("probing the machine", &other)),
        }
    }

    /// Makes the context of a device ready.
    pub fn warm(&mut self, device: u32, limits: &Limits<'_>) -> Result<(), WorkerError> {
        self.done("starting the device", Request::Warm { device }, Vec::new(), limits)
    }

    /// Compiles, without any cache; see [`crate::Compiler`] for the cache.
    pub fn compile(
        &mut self,
        nvrtc: &NvrtcFiles,
        job: &CompileJob,
        limits: &Limits<'_>,
    ) -> Result<Compiled, WorkerError> {
        let during = format!("compiling `{}`", job.file_name);
        self.keep_one_nvrtc(Some(nvrtc));
        let request = Request::Compile { nvrtc: nvrtc.clone(), job: job.clone() };
        match self.call(&during, request, Vec::new(), &Budget::of(limits))? {
            (Reply::Compiled { log, nvrtc_version }, blobs) => {
                let code = self.first_blob(&during, blobs)?;
                let kernels = if job.want == Want::Cubin { log::kernel_resources(&log) } else { Vec::new() };
                let warnings = log::warnings(&log);
                Ok(Compiled { code, log, kernels, warnings, nvrtc_version })
            }
            (other, _) => Err(self.unexpected(&during, &other)),
        }
    }

    /// Runs a kernel once and brings its writable buffers back.
    pub fn launch(&mut self, launch: &Launch<'_>, limits: &Limits<'_>) -> Result<LaunchResult, WorkerError> {
        let during = format!("running `{}`", launch.symbol);
        let budget = Budget::of(limits);
        let mut parcel = Parcel::default();
        let request = self.launch_request(launch, &mut parcel, &budget)?;
        match self.call(&during, Request::Launch(request), parcel.blobs, &budget)? {
            (Reply::Launched { outputs, gpu_ms }, mut blobs) => {
                self.remember_modules(parcel.modules);
                let mut taken = BTreeMap::new();
                for (arg, blob) in outputs {
                    let Some(bytes) = blobs.get_mut(blob) else {
                        return Err(self.protocol(&during, "a result without its bytes"));
                    };
                    taken.insert(arg, std::mem::take(bytes));
                }
                Ok(LaunchResult { outputs: taken, gpu_ms })
            }
            (other, _) => Err(self.unexpected(&during, &other)),
        }
    }

    /// Allocates zeroed device memory.
    pub fn alloc(&mut self, device: u32, bytes: u64, limits: &Limits<'_>) -> Result<Buffer, WorkerError> {
        const DURING: &str = "allocating device memory";
        match self.call(DURING, Request::Alloc { device, bytes }, Vec::new(), &Budget::of(limits))? {
            (Reply::Allocated { buffer }, _) => {
                let session = self.session.as_ref().map_or(0, |session| session.number);
                Ok(Buffer { session, id: buffer, bytes })
            }
            (other, _) => Err(self.unexpected(DURING, &other)),
        }
    }

    /// Writes `data` at `offset` bytes into the buffer.
    pub fn upload(
        &mut self,
        buffer: Buffer,
        offset: u64,
        data: &[u8],
        limits: &Limits<'_>,
    ) -> Result<(), WorkerError> {
        let buffer = self.live(buffer)?;
        let request = Request::Upload { buffer, offset, data: 0 };
        self.done("writing device memory", request, vec![data.to_vec()], limits)
    }

    /// Reads `bytes` bytes at `offset` from the buffer.
    pub fn download(
        &mut self,
        buffer: Buffer,
        offset: u64,
        bytes: u64,
        limits: &Limits<'_>,
    ) -> Result<Vec<u8>, WorkerError> {
        const DURING: &str = "reading device memory";
        let buffer = self.live(buffer)?;
        match self.call(
            DURING,
            Request::Download { buffer, offset, bytes },
            Vec::new(),
            &Budget::of(limits),
        )? {
            (Reply::Downloaded, blobs) => self.first_blob(DURING, blobs),
            (other, _) => Err(self.unexpected(DURING, &other)),
        }
    }

    /// Gives the buffer back; one that was lost with its worker is fine.
    pub fn free(&mut self, buffer: Buffer, limits: &Limits<'_>) -> Result<(), WorkerError> {
        match self.live(buffer) {
            Ok(buffer) => self.done("freeing device memory", Request::Free { buffer }, Vec::new(), limits),
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn done(
        &mut self,
        during: &str,
        request: Request,
        blobs: Vec<Vec<u8>>,
        limits: &Limits<'_>,
    ) -> Result<(), WorkerError> {
        match self.call(during, request, blobs, &Budget::of(limits))? {
            (Reply::Done, _) => Ok(()),
            (other, _) => Err(self.unexpected(during, &other)),
        }
    }

    /// A launch as it travels; its bytes go into the parcel, machine code only where the worker has not had it.
    pub(crate) fn launch_request(
        &mut self,
        launch: &Launch<'_>,
        parcel: &mut Parcel,
        budget: &Budget<'_>,
    ) -> Result<LaunchRequest, WorkerError> {
        let module = blake3::hash(launch.cubin).to_hex().to_string();
        let key = (launch.device, module.clone());
        let known = self.session(budget)?.modules.contains(&key);
        let cubin = match parcel.modules.get(&key) {
            _ if known => None,
            Some(blob) => Some(*blob),
            None => {
                parcel.blobs.push(launch.cubin.to_vec());
                let blob = parcel.blobs.len() - 1;
                parcel.modules.insert(key, blob);
                Some(blob)
            }
        };
        let mut args = Vec::with_capacity(launch.args.len());
        for arg in &launch.args {
            args.push(match arg {
                Arg::Buffer { data, writable } => {
                    parcel.blobs.push(data.to_vec());
                    WireArg::Buffer { data: parcel.blobs.len() - 1, writable: *writable }
                }
                Arg::Resident { buffer, offset } => {
                    WireArg::Resident { buffer: self.live(*buffer)?, offset: *offset }
                }
                Arg::Value(bytes) => WireArg::Value { bytes: bytes.clone() },
            });
        }
        Ok(LaunchRequest {
            device: launch.device,
            module,
            cubin,
            symbol: launch.symbol.to_owned(),
            grid: launch.grid,
            cluster: launch.cluster,
            threads: launch.threads,
            shared_bytes: launch.shared_bytes,
            args,
        })
    }

    pub(crate) fn remember_modules(&mut self, modules: BTreeMap<(u32, String), Blob>) {
        if let Some(session) = &mut self.session {
            session.modules.extend(modules.into_keys());
        }
    }

    /// The worker's name of a buffer, if its worker still lives.
    pub(crate) fn live(&self, buffer: Buffer) -> Result<u64, WorkerError> {
        match &self.session {
            Some(session) if session.number == buffer.session => Ok(buffer.id),
            _ => Err(WorkerError::LostBuffer),
        }
    }

    /// A process can hold one compiler library only: two of them share names. A change of it needs a new process.
    fn keep_one_nvrtc(&mut self, wanted: Option<&NvrtcFiles>) {
        let held = self.session.as_ref().and_then(|session| session.nvrtc.as_ref());
        if held.is_some() && wanted.is_some() && held != wanted {
            self.stop();
        }
    }

    fn session(&mut self, budget: &Budget<'_>) -> Result<&mut Session, WorkerError> {
        const DURING: &str = "starting the worker";
        if self.session.is_none() {
            let process = Process::spawn(&self.command)
                .map_err(|reason| WorkerError::Spawn { program: self.command.program.clone(), reason })?;
            self.starts += 1;
            let number = self.starts;
            self.session =
                Some(Session { process, number, next_id: 0, modules: BTreeSet::new(), nvrtc: None });
            let hello = self.wait(DURING, budget)?;
            match hello.parse::<Hello>() {
                Ok(Hello { protocol: PROTOCOL_VERSION }) => {}
                Ok(Hello { protocol }) => {
                    let reason = format!("it speaks version {protocol}, this is version {PROTOCOL_VERSION}");
                    return Err(self.protocol(DURING, &reason));
                }
                Err(error) => return Err(self.protocol(DURING, &error.to_string())),
            }
        }
        self.session.as_mut().ok_or_else(|| WorkerError::Protocol {
            during: DURING.to_owned(),
            reason: "the worker is gone".to_owned(),
        })
    }

    pub(crate) fn call(
        &mut self,
        during: &str,
        request: Request,
        blobs: Vec<Vec<u8>>,
        budget: &Budget<'_>,
    ) -> Result<(Reply, Vec<Vec<u8>>), WorkerError> {
        let session = self.session(budget)?;
        if let Request::Probe { nvrtc: Some(nvrtc) } | Request::Compile { nvrtc, .. } = &request {
            session.nvrtc = Some(nvrtc.clone());
        }
        session.next_id += 1;
        let id = session.next_id;
        let frame = Frame::new(&RequestEnvelope { id, request }, blobs).map_err(|error| {
            WorkerError::Protocol { during: during.to_owned(), reason: error.to_string() }
        })?;
        session.process.send(frame);
        let frame = self.wait(during, budget)?;
        let envelope = match frame.parse::<ReplyEnvelope>() {
            Ok(envelope) if envelope.id == id => envelope,
            Ok(_) => return Err(self.protocol(during, "the answer belongs to another request")),
            Err(error) => return Err(self.protocol(during, &error.to_string())),
        };
        match envelope.reply {
            Ok(reply) => Ok((reply, frame.blobs)),
            Err(error) => {
                if matches!(&error, RemoteError::Cuda(fault) if fault.sticky) {
                    // The context is lost with a sticky error; only a new process gets a new one for certain.
                    if let Some(mut session) = self.session.take() {
                        session.process.end(DEATH);
                    }
                }
                Err(error.into())
            }
        }
    }

    /// Waits for a frame; every failure ends the worker.
    fn wait(&mut self, during: &str, budget: &Budget<'_>) -> Result<Frame, WorkerError> {
        let Some(session) = &self.session else {
            return Err(WorkerError::Protocol {
                during: during.to_owned(),
                reason: "the worker is gone".to_owned(),
            });
        };
        let error = match session.process.wait_frame(budget) {
            Ok(frame) => return Ok(frame),
            Err(error) => error,
        };
        let during = during.to_owned();
        let Some(mut session) = self.session.take() else { return Err(WorkerError::Cancelled { during }) };
        Err(match error {
            WaitError::Closed => {
                let status = session.process.end(DEATH);
                WorkerError::Crashed { during, status, stderr: session.process.stderr_tail() }
            }
            WaitError::Deadline => {
                session.process.end(Duration::ZERO);
                WorkerError::Deadline { during, after: budget.limits.deadline }
            }
            WaitError::Cancelled => {
                session.process.end(Duration::ZERO);
                WorkerError::Cancelled { during }
            }
            WaitError::Broken(reason) => {
                session.process.end(Duration::ZERO);
                WorkerError::Protocol { during, reason }
            }
        })
    }

    fn first_blob(&mut self, during: &str, blobs: Vec<Vec<u8>>) -> Result<Vec<u8>, WorkerError> {
        blobs.into_iter().next().ok_or_else(|| self.protocol(during, "an answer without its bytes"))
    }

    pub(crate) fn unexpected(&mut self, during: &str, reply: &Reply) -> WorkerError {
        let name = format!("{reply:?}");
        let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        self.protocol(during, &format!("an answer of another kind, `{name}`"))
    }

    /// A protocol error: the worker is of no more use.
    fn protocol(&mut self, during: &str, reason: &str) -> WorkerError {
        self.session = None;
        WorkerError::Protocol { during: during.to_owned(), reason: reason.to_owned() }
    }
}
