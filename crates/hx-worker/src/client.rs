//! The client: typed requests with a deadline, and a fresh worker after each death.
//!
//! A request that crashes the worker, or that does not end in time, becomes a [`WorkerError`]; the next request starts a new
//! worker. Device buffers are lost with their worker; using one is a [`WorkerError::LostBuffer`]. The client never retries: a
//! request that crashed once tends to crash again, so the caller decides.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hx_tensor_map::TensorMap;

use crate::error::WorkerError;
use crate::frame::Frame;
use crate::limits::{Budget, Limits};
use crate::log;
use crate::process::{FAREWELL, Process, WaitError, WorkerCommand};
use crate::protocol::{
    Blob, CompileJob, Compiled, Hello, LaunchRequest, NvrtcFiles, PROTOCOL_VERSION, ProbeReport, RemoteError,
    Reply, ReplyEnvelope, Request, RequestEnvelope, Want, WireArg,
};

/// The time after which a dying worker is killed.
const DEATH: Duration = Duration::from_secs(2);

/// Device memory that lives as long as its worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    session: u64,
    id: u64,
    bytes: u64,
}

impl Buffer {
    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg<'a> {
    /// A pointer to fresh device memory that holds `data`. Its content is read back if `writable`.
    Buffer {
        /// The initial content of the device memory.
        data: &'a [u8],
        /// Whether the kernel may write it.
        writable: bool,
    },
    /// A pointer into an existing allocation.
    Resident {
        /// The allocation, which must belong to the current worker.
        buffer: Buffer,
        /// Offset from its start, in bytes.
        offset: u64,
    },
    /// Parameter bytes by value, little endian.
    Value(Vec<u8>),
    /// A tensor map, which the worker encodes.
    TensorMap(TensorMap),
}

impl Arg<'_> {
    /// Makes a 4-byte parameter of a signed integer.
    pub fn i32(value: i32) -> Self {
        Arg::Value(value.to_le_bytes().to_vec())
    }

    /// Makes an 8-byte parameter of a signed integer.
    pub fn i64(value: i64) -> Self {
        Arg::Value(value.to_le_bytes().to_vec())
    }

    /// Makes a 4-byte parameter of a float.
    pub fn f32(value: f32) -> Self {
        Arg::Value(value.to_le_bytes().to_vec())
    }

    /// Makes an 8-byte parameter of a float.
    pub fn f64(value: f64) -> Self {
        Arg::Value(value.to_le_bytes().to_vec())
    }
}

/// A kernel with the sizes of its launch and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch<'a> {
    /// The number of the device, from 0.
    pub device: u32,
    /// The machine code. Each worker receives it once.
    pub cubin: &'a [u8],
    /// Name of the kernel in the machine code.
    pub symbol: &'a str,
    /// Number of blocks in x, y, z.
    pub grid: [u32; 3],
    /// Number of blocks of a cluster in x, y, z; `[1, 1, 1]` for none.
    pub cluster: [u32; 3],
    /// Number of threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Whether the launch may start before those before it are complete: the kernel waits for them itself.
    pub waits_for_previous: bool,
    /// The arguments, in the order of the kernel's parameters.
    pub args: Vec<Arg<'a>>,
}

/// The results of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchResult {
    /// The content of each writable buffer, keyed by the position of its argument.
    pub outputs: BTreeMap<usize, Vec<u8>>,
    /// Time on the device, in milliseconds.
    pub gpu_ms: f32,
}

/// The bytes of a request, and the positions of new machine code in them.
#[derive(Debug, Default)]
pub(crate) struct Parcel {
    pub(crate) blobs: Vec<Vec<u8>>,
    /// The blob with each new cubin, by device and hash.
    pub(crate) modules: BTreeMap<(u32, String), Blob>,
}

/// Sends requests to a worker process, which it starts and ends.
#[derive(Debug)]
pub struct WorkerClient {
    command: WorkerCommand,
    session: Option<Session>,
    starts: u64,
}

/// The state of one worker process, including the modules and libraries that it holds.
#[derive(Debug)]
struct Session {
    process: Process,
    number: u64,
    next_id: u64,
    modules: BTreeSet<(u32, String)>,
    nvrtc: Option<NvrtcFiles>,
}

impl WorkerClient {
    /// Makes a client. The process starts with the first request.
    pub fn new(command: WorkerCommand) -> WorkerClient {
        WorkerClient { command, session: None, starts: 0 }
    }

    /// Returns how many workers were started so far.
    pub fn starts(&self) -> u64 {
        self.starts
    }

    /// Reports whether a worker was started. It may have died since its last answer.
    pub fn is_running(&self) -> bool {
        self.session.is_some()
    }

    /// Ends the worker and waits until it is gone. The next request starts a new one.
    pub fn stop(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.process.end(FAREWELL);
        }
    }

    /// Starts the worker now instead of at the first request.
    ///
    /// # Errors
    /// If the process does not start within the limits.
    pub fn start(&mut self, limits: &Limits<'_>) -> Result<(), WorkerError> {
        self.session(&Budget::of(limits)).map(|_| ())
    }

    /// Probes the machine: driver, devices, compiler library.
    ///
    /// # Errors
    /// If the worker fails. A machine without a driver or a compiler is no error: the report says so.
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

    /// Creates the context of a device.
    ///
    /// # Errors
    /// If the device has no context, or the worker fails.
    pub fn warm(&mut self, device: u32, limits: &Limits<'_>) -> Result<(), WorkerError> {
        self.done("starting the device", Request::Warm { device }, Vec::new(), limits)
    }

    /// Compiles without a cache. [`crate::Compiler`] compiles through the cache.
    ///
    /// # Errors
    /// If NVRTC refuses the text, or the worker fails.
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

    /// Runs a kernel once and reads its writable buffers back.
    ///
    /// # Errors
    /// If the module does not load, the launch fails, or the worker fails.
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

    /// Allocates `bytes` bytes of zeroed device memory. The buffer is lost when its worker ends.
    ///
    /// # Errors
    /// If the device has no room, or the worker fails.
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
    ///
    /// # Errors
    /// If the buffer was lost with its worker, the range is outside of it, or the worker fails.
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
    ///
    /// # Errors
    /// If the buffer was lost with its worker, the range is outside of it, or the worker fails.
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

    /// Frees the buffer, unless it was lost with its worker.
    ///
    /// # Errors
    /// If the worker fails.
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

    /// Encodes a launch. Its bytes go into the parcel; machine code only if the worker does not have it yet.
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
                Arg::TensorMap(map) => WireArg::TensorMap(map.clone()),
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
            waits_for_previous: launch.waits_for_previous,
            args,
        })
    }

    pub(crate) fn remember_modules(&mut self, modules: BTreeMap<(u32, String), Blob>) {
        if let Some(session) = &mut self.session {
            session.modules.extend(modules.into_keys());
        }
    }

    /// Returns the worker's id of a buffer, if that worker still lives.
    pub(crate) fn live(&self, buffer: Buffer) -> Result<u64, WorkerError> {
        match &self.session {
            Some(session) if session.number == buffer.session => Ok(buffer.id),
            _ => Err(WorkerError::LostBuffer),
        }
    }

    /// Stops the worker if it holds another compiler library. Two of them share names, so a process can hold only one.
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
                    // A sticky error loses the context. Only a new process is certain to get a new one.
                    if let Some(mut session) = self.session.take() {
                        session.process.end(DEATH);
                    }
                }
                Err(error.into())
            }
        }
    }

    /// Waits for a frame. Every failure ends the worker.
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
                WorkerError::Deadline { during, after: budget.deadline() }
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

    /// Ends the worker after a protocol error, and returns the error.
    fn protocol(&mut self, during: &str, reason: &str) -> WorkerError {
        self.session = None;
        WorkerError::Protocol { during: during.to_owned(), reason: reason.to_owned() }
    }
}
