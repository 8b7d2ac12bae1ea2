//! Reads messages, hands them to the service in order, and writes the answers. Every request gets exactly one answer, even if it
//! is unknown or invalid, or if its handler panics.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::Poll;

use futures::future::{Either, select};
use futures::{FutureExt as _, Sink, SinkExt as _, StreamExt as _};
use hx_ide::panic_text;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tower_lsp::jsonrpc::{Error, Request, Response};
use tower_lsp::{ClientSocket, LanguageServer, LspService};
use tower_service::Service as _;

use crate::task::internal;
use crate::wire::{Frames, Incoming, incoming};

/// The maximal number of bytes of one read.
const CHUNK: usize = 64 << 10;

/// Serves until the client sends `exit`, closes our input, or stops reading.
pub(crate) async fn run<S, I, O>(input: I, output: O, service: LspService<S>, socket: ClientSocket)
where
    S: LanguageServer,
    I: AsyncRead + Unpin,
    O: AsyncWrite,
{
    let (mut requests, responses) = socket.split();
    let (sender, messages) = unbounded_channel();
    let ours = Out(sender.clone());
    // Forward the messages that the server sends on its own initiative.
    let told = tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            ours.send(&request);
        }
    });
    let read = pin!(read(input, service, responses, Out(sender)));
    let write = pin!(write(output, messages));
    if let Either::Left(((), rest)) = select(read, write).await {
        told.abort();
        let _ = told.await;
        // All senders are dropped, so this ends when every message is written.
        let _ = rest.await;
    } else {
        told.abort();
    }
}

/// A channel to the client. A message is serialized before it is queued, so the writer only copies bytes.
#[derive(Clone)]
struct Out(UnboundedSender<Vec<u8>>);

impl Out {
    fn send(&self, message: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(message) {
            // If the client has disconnected, drop the message.
            let _ = self.0.send(format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes());
        }
    }
}

async fn write(output: impl AsyncWrite, mut messages: UnboundedReceiver<Vec<u8>>) -> std::io::Result<()> {
    let mut output = pin!(output);
    while let Some(message) = messages.recv().await {
        output.write_all(&message).await?;
        output.flush().await?;
    }
    Ok(())
}

async fn read<S: LanguageServer>(
    mut input: impl AsyncRead + Unpin,
    mut service: LspService<S>,
    mut responses: impl Sink<Response> + Unpin,
    out: Out,
) {
    let mut frames = Frames::default();
    let mut chunk = vec![0; CHUNK];
    let mut answers = JoinSet::new();
    'messages: loop {
        while let Some(frame) = frames.next() {
            for message in incoming(frame) {
                match message {
                    Incoming::Request(request) => {
                        let exits = request.method() == "exit";
                        let asks = request.id().is_some();
                        if let Some(rest) = begin(answer(&mut service, request, out.clone())).await {
                            if asks {
                                answers.spawn(rest);
                            } else {
                                tokio::spawn(rest);
                            }
                        }
                        if exits {
                            break 'messages;
                        }
                    }
                    Incoming::Response(response) => {
                        let _ = responses.send(response).await;
                    }
                    Incoming::Refused(refusal) => out.send(&refusal),
                }
            }
        }
        while answers.try_join_next().is_some() {}
        match input.read(&mut chunk).await {
            Ok(count @ 1..) => frames.push(&chunk[..count]),
            Ok(0) | Err(_) => break,
        }
    }
    // After `exit` the pending answers are cancelled. A client that only closed our input still gets them.
    while answers.join_next().await.is_some() {}
}

/// Answers a request. A notification has no answer.
fn answer<S: LanguageServer>(
    service: &mut LspService<S>,
    request: Request,
    out: Out,
) -> impl Future<Output = ()> + Send + use<S> {
    let (id, method) = (request.id().cloned(), request.method().to_owned());
    let handled = AssertUnwindSafe(service.call(request)).catch_unwind();
    async move {
        let handled = handled.await;
        let Some(id) = id else { return };
        out.send(&match handled {
            Ok(Ok(Some(response))) => response,
            // The service does not answer unknown requests of the protocol itself (`$/…`): reply that the method is unknown.
            Ok(Ok(None)) => {
                Response::from_error(id, Error { data: Some(method.into()), ..Error::method_not_found() })
            }
            Ok(Err(_)) => Response::from_error(id, Error::invalid_request()),
            Err(panic) => {
                let reason = format!("{method} failed: the server panicked: {}", panic_text(&*panic));
                Response::from_error(id, internal(reason))
            }
        });
    }
}

/// Runs an answer up to its first wait, so that messages reach the main loop in order. The rest of the answer runs concurrently
/// with later messages. `None` if the answer is complete.
async fn begin<F: Future<Output = ()>>(answer: F) -> Option<Pin<Box<F>>> {
    let mut answer = Box::pin(answer);
    let first = std::future::poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await;
    first.is_pending().then_some(answer)
}
