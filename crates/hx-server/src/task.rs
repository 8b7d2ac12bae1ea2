//! A question between the client and a reader, and its answer.

use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};

use hx_ide::Cancelled;

use crate::cancel::CancelSlot;
use crate::questions::{About, Question, Subject};
use crate::state::Snapshot;

/// The result of a handler: an answer or an error for the client, or a cancellation.
pub(crate) type Handled<T> = std::result::Result<Result<T>, Cancelled>;

/// The result of one attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attempt {
    Answered,
    /// The text changed during the attempt.
    Outdated,
}

type Work = Box<dyn FnMut(Step<'_>) -> Attempt + Send>;

/// The argument of a task's work: `Run` tries to answer on a snapshot, and may come again if the text changed meanwhile; `Refuse`
/// answers with an error and does not run the handler.
pub(crate) enum Step<'a> {
    Run(&'a Snapshot),
    Refuse(Error),
}

/// A question, with the channel for its answer.
pub(crate) struct Task {
    pub(crate) question: Question,
    pub(crate) subject: Option<Subject>,
    pub(crate) slot: CancelSlot,
    /// The number of the writer's changes before the question: a change with a higher number came after it.
    pub(crate) after: u64,
    /// The rest of the line after the question's place when it was asked, if the question depends on it.
    pub(crate) behind: Option<String>,
    work: Work,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("question", &self.question).finish_non_exhaustive()
    }
}

/// Makes a task, and the future that waits for its answer.
pub(crate) fn task<P, R>(
    question: Question,
    params: P,
    handler: fn(&Snapshot, &P) -> Handled<R>,
) -> (Task, impl Future<Output = Result<R>> + use<P, R>)
where
    P: About + Send + 'static,
    R: Send + 'static,
{
    let subject = params.subject();
    let (sender, receiver) = oneshot::channel();
    let mut sender = Some(sender);
    let mut reply = move |answer: Result<R>| {
        if let Some(sender) = sender.take() {
            // The receiver may be gone, because the client cancelled: ignore the failure.
            let _ = sender.send(answer);
        }
        Attempt::Answered
    };
    let work: Work = Box::new(move |step| match step {
        Step::Refuse(error) => reply(Err(error)),
        Step::Run(snapshot) => match handler(snapshot, &params) {
            Ok(answer) => reply(answer),
            Err(Cancelled::Withdrawn) => reply(Err(Error::request_cancelled())),
            Err(Cancelled::Outdated) => Attempt::Outdated,
        },
    });
    let slot = CancelSlot::default();
    let guard = slot.guard();
    let answer = async move {
        let _guard = guard;
        receiver.await.unwrap_or_else(|_| Err(internal("the server is shutting down")))
    };
    (Task { question, subject, slot, after: 0, behind: None, work }, answer)
}

impl Task {
    pub(crate) fn run(&mut self, snapshot: &Snapshot) -> Attempt {
        (self.work)(Step::Run(snapshot))
    }

    pub(crate) fn refuse(&mut self, error: Error) {
        (self.work)(Step::Refuse(error));
    }
}

pub(crate) fn internal(message: impl Into<String>) -> Error {
    Error { code: ErrorCode::InternalError, message: message.into().into(), data: None }
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error { code: ErrorCode::InvalidParams, message: message.into().into(), data: None }
}

pub(crate) fn modified() -> Error {
    Error { code: ErrorCode::ContentModified, message: "the text has changed".into(), data: None }
}
