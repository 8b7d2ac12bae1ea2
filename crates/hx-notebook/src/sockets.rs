//! The sockets, on a thread of their own, and the requests that must not wait for the session.
//!
//! Requests of the shell channel go to the session's thread, in order. Interrupts and shutdown arrive on the control channel and
//! are answered here, so that they work while an entry runs. All messages leave through one queue, so that clients see them in
//! the order in which they were sent.

use std::fmt::Display;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zeromq::{
    PubSocket, RepSocket, RouterRecvHalf, RouterSendHalf, RouterSocket, Socket, SocketRecv as _,
    SocketSend as _, ZmqMessage,
};

use crate::connection::Connection;
use crate::info::kernel_info;
use crate::message::{Message, Sender, ShutdownRequest};
use crate::wire::Signer;

/// Time during which lines of output are collected into one message.
const COLLECT: Duration = Duration::from_millis(25);
/// Number of bytes of collected output above which it is sent without waiting for more.
const CHUNK: usize = 64 << 10;
/// Number of waiting stream messages at which the program that prints has to wait.
const BACKLOG: usize = 4096;
/// Time after which a message to a client that does not read is dropped, so that the client does not block the others.
const STALLED: Duration = Duration::from_secs(10);
/// Time for the last messages to leave before the process ends.
const FLUSH: Duration = Duration::from_millis(100);
/// Time to wait after a socket failed to receive.
const RETRY: Duration = Duration::from_millis(20);

/// A message for the session's thread.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request(Box<Message>),
    /// End the kernel.
    Shutdown,
}

/// A message for a socket.
#[derive(Debug)]
enum Outgoing {
    Shell(Message),
    Control(Message),
    Publish(Message),
    /// No message follows.
    End,
}

/// Sends messages to clients.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    sender: Sender,
    outgoing: UnboundedSender<Outgoing>,
    /// Number of stream messages that are not sent yet.
    backlog: Arc<AtomicUsize>,
}

impl Port {
    /// Answers a request of the shell channel.
    pub(crate) fn reply(&self, to: &Message, kind: &str, content: Value) {
        self.send(Outgoing::Shell(self.sender.reply(to, kind, content)));
    }

    fn reply_on_control(&self, to: &Message, kind: &str, content: Value) {
        self.send(Outgoing::Control(self.sender.reply(to, kind, content)));
    }

    /// Sends a message to all clients. `parent` is the header of the request that caused it.
    pub(crate) fn publish(&self, parent: &Value, kind: &str, content: Value) {
        self.send(Outgoing::Publish(self.sender.publication(parent, kind, content)));
    }

    /// Publishes output of the program. While [`BACKLOG`] messages wait, blocks, so that a program that prints without end needs
    /// no memory. Only the session's thread calls this.
    pub(crate) fn stream(&self, parent: &Value, name: &str, text: &str) {
        while self.backlog.load(Ordering::Relaxed) >= BACKLOG && !self.outgoing.is_closed() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.backlog.fetch_add(1, Ordering::Relaxed);
        self.publish(parent, "stream", json!({ "name": name, "text": text }));
    }

    /// Publishes that the kernel is `starting`, `busy` or `idle`.
    pub(crate) fn status(&self, parent: &Value, state: &str) {
        self.publish(parent, "status", json!({ "execution_state": state }));
    }

    /// Makes a port without sockets, and a function that returns the kinds and contents of the messages that were published since
    /// its last call.
    #[cfg(test)]
    pub(crate) fn for_tests() -> (Port, impl FnMut() -> Vec<(String, Value)>) {
        let (outgoing, mut queue) = unbounded_channel();
        let published = move || {
            let mut found = Vec::new();
            while let Ok(message) = queue.try_recv() {
                if let Outgoing::Publish(message) = message {
                    found.push((message.header.msg_type, message.content));
                }
            }
            found
        };
        (Port { sender: Sender::new(), outgoing, backlog: Arc::default() }, published)
    }

    fn send(&self, message: Outgoing) {
        // The thread of the sockets outlives the session's thread. If it is gone, nobody can receive the message.
        let _ = self.outgoing.send(message);
    }
}

/// Flags that the threads share.
#[derive(Clone, Debug)]
pub(crate) struct Flags {
    /// Stops the entry that runs.
    pub interrupt: &'static AtomicBool,
    /// Set once the kernel has to end.
    pub ended: Arc<AtomicBool>,
}

impl Flags {
    /// Ends the kernel: stops the running entry, and keeps waiting requests from starting.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.interrupt.store(true, Ordering::SeqCst);
    }
}

/// The open sockets.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub port: Port,
    pub incoming: mpsc::Receiver<Incoming>,
    /// Sends messages to `incoming`, so that its receiver wakes up.
    pub wake: mpsc::Sender<Incoming>,
    thread: JoinHandle<()>,
}

/// The state that the tasks of the sockets' thread share.
struct Inside {
    signer: Signer,
    port: Port,
    flags: Flags,
    to_session: mpsc::Sender<Incoming>,
    log: fn(&str),
}

impl Sockets {
    /// Binds the sockets of a connection and serves them on a thread.
    ///
    /// # Errors
    /// If a port cannot be used, or no thread can be started.
    pub(crate) fn open(connection: Connection, flags: Flags, log: fn(&str)) -> Result<Sockets, String> {
        let (outgoing, queue) = unbounded_channel();
        let (wake, incoming) = mpsc::channel();
        let port = Port { sender: Sender::new(), outgoing, backlog: Arc::default() };
        let signer = Signer::new(&connection.key);
        let inside = Inside { signer, port: port.clone(), flags, to_session: wake.clone(), log };
        let (ready, bound) = mpsc::channel();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let (after_panic, to_session) = (inside.flags.clone(), wake.clone());
        let body = move || {
            let served = || runtime.block_on(run(&connection, inside, queue, &ready));
            // No client can reach a kernel without sockets: end it, so that Jupyter starts another one.
            if catch_unwind(AssertUnwindSafe(served)).is_err() {
                after_panic.end();
                let _ = to_session.send(Incoming::Shutdown);
            }
        };
        let thread =
            std::thread::Builder::new().name("sockets".to_owned()).spawn(body).map_err(|e| e.to_string())?;
        bound.recv().map_err(|_| "the thread of the sockets ended".to_owned())??;
        Ok(Sockets { port, incoming, wake, thread })
    }

    /// Sends the waiting messages and closes the sockets.
    pub(crate) fn close(self) {
        self.port.send(Outgoing::End);
        let _ = self.thread.join();
    }
}

/// Binds and serves the sockets until `Outgoing::End`. `ready` receives whether they were bound.
async fn run(
    connection: &Connection,
    inside: Inside,
    queue: UnboundedReceiver<Outgoing>,
    ready: &mpsc::Sender<Result<(), String>>,
) {
    let bound = async {
        Ok::<_, String>((
            bound::<RouterSocket>(connection, connection.shell_port).await?,
            bound::<RouterSocket>(connection, connection.control_port).await?,
            bound::<RouterSocket>(connection, connection.stdin_port).await?,
            bound::<RepSocket>(connection, connection.hb_port).await?,
            bound::<PubSocket>(connection, connection.iopub_port).await?,
        ))
    };
    let (shell, control, mut stdin, heartbeat, publications) = match bound.await {
        Ok(sockets) => sockets,
        Err(reason) => {
            let _ = ready.send(Err(reason));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    let ((shell_out, shell_in), (control_out, control_in)) = (shell.split(), control.split());
    let (signer, backlog) = (inside.signer.clone(), Arc::clone(&inside.port.backlog));
    let inside = Arc::new(inside);
    tokio::spawn(beat(heartbeat));
    tokio::spawn(receive(Arc::clone(&inside), shell_in, forward));
    tokio::spawn(receive(inside, control_in, answer));
    // The kernel never requests input, so drop messages that arrive here.
    tokio::spawn(async move { while stdin.recv().await.is_ok() {} });
    let senders = Senders { signer, shell: shell_out, control: control_out, publications };
    send_all(senders, queue, &backlog).await;
    tokio::time::sleep(FLUSH).await;
}

async fn bound<S: Socket>(connection: &Connection, port: u16) -> Result<S, String> {
    let failed = |error: &dyn Display| format!("cannot listen at `{}`: {error}", connection.address(port));
    // Bind with a listener of the standard library: to parse an address from text, the crate of the sockets would link an engine
    // for regular expressions that is half as large as this crate.
    let listener = TcpListener::bind((connection.ip.as_str(), port)).map_err(|error| failed(&error))?;
    let mut socket = S::new();
    socket.bind_listener(listener).await.map_err(|error| failed(&error))?;
    Ok(socket)
}

/// Sends each heartbeat back.
async fn beat(mut socket: RepSocket) {
    loop {
        match socket.recv().await {
            Ok(message) => drop(socket.send(message).await),
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// Passes the messages of a socket to `handle`. A message that cannot be decoded is logged and dropped.
async fn receive(inside: Arc<Inside>, mut socket: RouterRecvHalf, handle: fn(&Inside, Message)) {
    loop {
        match socket.recv().await {
            Ok(frames) => match inside.signer.decode(frames.into_vec()) {
                Ok(message) => handle(&inside, message),
                Err(error) => (inside.log)(&error.to_string()),
            },
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

fn forward(inside: &Inside, message: Message) {
    let _ = inside.to_session.send(Incoming::Request(Box::new(message)));
}

/// Answers a message of the control channel: an interrupt, an information request or a shutdown. Others are logged.
fn answer(inside: &Inside, message: Message) {
    let (port, parent) = (&inside.port, message.raw_header());
    port.status(&parent, "busy");
    match message.header.msg_type.as_str() {
        "interrupt_request" => {
            inside.flags.interrupt.store(true, Ordering::SeqCst);
            port.reply_on_control(&message, "interrupt_reply", json!({ "status": "ok" }));
        }
        "kernel_info_request" => port.reply_on_control(&message, "kernel_info_reply", kernel_info()),
        "shutdown_request" => {
            let request: ShutdownRequest = message.parse().unwrap_or_default();
            let content = json!({ "status": "ok", "restart": request.restart });
            port.publish(&parent, "shutdown_reply", content.clone());
            port.reply_on_control(&message, "shutdown_reply", content);
            inside.flags.end();
            let _ = inside.to_session.send(Incoming::Shutdown);
        }
        other => (inside.log)(&format!("a message was ignored: the control channel has no `{other}`")),
    }
    port.status(&parent, "idle");
}

struct Senders {
    signer: Signer,
    shell: RouterSendHalf,
    control: RouterSendHalf,
    publications: PubSocket,
}

/// Sends messages in order until `Outgoing::End`. Output that arrives in quick succession is sent as one message.
async fn send_all(mut senders: Senders, mut queue: UnboundedReceiver<Outgoing>, backlog: &AtomicUsize) {
    let mut next = queue.recv().await;
    while let Some(message) = next.take() {
        match message {
            Outgoing::End => return,
            Outgoing::Publish(mut message) if message.header.msg_type == "stream" => {
                backlog.fetch_sub(1, Ordering::Relaxed);
                next = collect(&mut message, &mut queue, backlog).await;
                senders.send(Outgoing::Publish(message)).await;
            }
            message => senders.send(message).await,
        }
        if next.is_none() {
            next = queue.recv().await;
        }
    }
}

/// Appends to a stream message the output that follows within [`COLLECT`]. Returns the first message that is not part of the
/// stream, if there was one.
async fn collect(
    message: &mut Message,
    queue: &mut UnboundedReceiver<Outgoing>,
    backlog: &AtomicUsize,
) -> Option<Outgoing> {
    let mut text = stream_text(message);
    let until = tokio::time::Instant::now() + COLLECT;
    let followed_by = loop {
        if text.len() > CHUNK {
            break None;
        }
        let Ok(Some(next)) = tokio::time::timeout_at(until, queue.recv()).await else { break None };
        match next {
            Outgoing::Publish(other) if is_same_stream(message, &other) => {
                backlog.fetch_sub(1, Ordering::Relaxed);
                text.push_str(&stream_text(&other));
            }
            next => break Some(next),
        }
    };
    message.content["text"] = Value::String(text);
    followed_by
}

fn stream_text(message: &Message) -> String {
    message.content["text"].as_str().unwrap_or_default().to_owned()
}

fn is_same_stream(message: &Message, other: &Message) -> bool {
    other.header.msg_type == "stream"
        && other.parent == message.parent
        && other.content["name"] == message.content["name"]
}

impl Senders {
    /// Sends a message. Ignores a failure, because the client has disconnected, and drops a message that is not sent within
    /// [`STALLED`].
    async fn send(&mut self, message: Outgoing) {
        let sent = async {
            match message {
                Outgoing::Shell(message) => self.shell.send(frames(&self.signer, &message)).await,
                Outgoing::Control(message) => self.control.send(frames(&self.signer, &message)).await,
                Outgoing::Publish(message) => self.publications.send(frames(&self.signer, &message)).await,
                Outgoing::End => Ok(()),
            }
        };
        let _ = tokio::time::timeout(STALLED, sent).await;
    }
}

fn frames(signer: &Signer, message: &Message) -> ZmqMessage {
    let mut frames = signer.encode(message).into_iter();
    let mut out = ZmqMessage::from(frames.next().unwrap_or_default());
    frames.for_each(|frame| out.push_back(frame));
    out
}
