//! The loop that owns the database. It applies changes in the order of their messages, hands questions with a snapshot to
//! readers, and sends diagnostics.
//!
//! A question gets its snapshot only when a thread is free, so a waiting question never delays a write. Diagnostics are jobs
//! keyed by file: a newer job replaces one that waits, and the result of an outdated generation is dropped. One thread is never
//! given such a job, so a question does not wait while a large file is being checked.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};

use hx_base::{Db as _, SourceFile};
use hx_ide::{Cancelled, panic_text};
use hx_workspace::Database;
use salsa::Database as _;
use salsa::plumbing::current_revision;
use tower_lsp::jsonrpc::Error;
use tower_lsp::ls_types::Diagnostic;

use crate::diagnose::{self, Diagnosed, Stage};
use crate::from_proto::Positions;
use crate::outgoing::{Outgoing, Refresh, ToClient};
use crate::pool::Pool;
use crate::questions::{Overtaken, Subject, is_same_word};
use crate::state::{Shared, Snapshot, user_files};
use crate::task::{Attempt, Task, internal, modified};

/// A message to the main loop.
pub(crate) enum Event {
    /// A change of the database, with the name of the message that requested it.
    Write(&'static str, Box<dyn FnOnce(&mut Writer) + Send>),
    Read(Task),
    /// A reader is free again; a task whose answer became outdated comes back.
    Free(Option<Task>),
    /// A job in the background has ended.
    Rested,
    Diagnosed(Diagnosed),
    Stop,
}

/// The state that changes may modify.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) db: Database,
    pub(crate) shared: Shared,
    pub(crate) client: ToClient,
    /// Number of changes so far.
    pub(crate) generation: u64,
    /// Files that wait for diagnostics; open documents come first.
    waiting: VecDeque<SourceFile>,
    /// The diagnostics sent last for each file, with the version of the document if it was open.
    published: BTreeMap<SourceFile, (Option<i32>, Vec<Diagnostic>)>,
    /// The files of which the client shows findings about layouts.
    with_layouts: BTreeSet<SourceFile>,
    /// The client has sent `initialized`.
    pub(crate) ready: bool,
}

struct MainLoop {
    writer: Writer,
    events: Receiver<Event>,
    sender: Sender<Event>,
    pool: Pool,
    /// Number of threads without work.
    free: usize,
    /// Number of jobs that may still start in the background. It is lower than the number of threads, so a question never waits
    /// for such a job.
    free_in_background: usize,
    questions: VecDeque<Task>,
    /// The running diagnostics job of each file, with its generation.
    diagnosing: BTreeMap<SourceFile, u64>,
    /// The files with many kernels whose diagnostics a second thread may help with.
    large: VecDeque<SourceFile>,
}

/// Runs until the loop is told to stop.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn run(
    shared: Shared,
    client: ToClient,
    events: Receiver<Event>,
    sender: Sender<Event>,
) -> std::io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let readers = shared.config.readers.unwrap_or(cores.clamp(2, 4));
    let writer = Writer {
        db: Database::default(),
        shared,
        client,
        generation: 0,
        waiting: VecDeque::new(),
        published: BTreeMap::new(),
        with_layouts: BTreeSet::new(),
        ready: false,
    };
    let main_loop = MainLoop {
        writer,
        events,
        sender,
        pool: Pool::new(readers + 1)?,
        free: readers + 1,
        free_in_background: readers,
        questions: VecDeque::new(),
        diagnosing: BTreeMap::new(),
        large: VecDeque::new(),
    };
    main_loop.run();
    Ok(())
}

impl MainLoop {
    fn run(mut self) {
        while let Ok(first) = self.events.recv() {
            // Handle all waiting messages before handing out work: after a burst of edits only the last text is checked.
            let mut next = Some(first);
            while let Some(event) = next {
                if self.hear(event).is_break() {
                    return;
                }
                next = self.events.try_recv().ok();
            }
            self.hand_out();
        }
    }

    fn hear(&mut self, event: Event) -> std::ops::ControlFlow<()> {
        match event {
            Event::Stop => return std::ops::ControlFlow::Break(()),
            Event::Write(name, change) => {
                self.writer.generation += 1;
                let writer = &mut self.writer;
                if let Err(panic) = catch_unwind(AssertUnwindSafe(move || change(writer))) {
                    self.writer.client.error(format!("{name} failed: {}", panic_text(&*panic)));
                }
            }
            Event::Read(mut task) => {
                task.after = self.writer.generation;
                if task.question.overtaken == Overtaken::SameWord {
                    task.behind = task.subject.as_ref().and_then(|about| self.behind(about));
                }
                self.questions.push_back(task);
            }
            Event::Free(task) => {
                self.free += 1;
                // The task has waited longest, so it comes first.
                if let Some(task) = task {
                    self.questions.push_front(task);
                }
            }
            Event::Rested => {
                self.free += 1;
                self.free_in_background += 1;
            }
            Event::Diagnosed(done) => self.diagnosed(done),
        }
        std::ops::ControlFlow::Continue(())
    }

    /// Gives work to free threads: questions first, then diagnostics.
    fn hand_out(&mut self) {
        while self.free > 0 {
            if let Some(task) = self.questions.pop_front() {
                self.ask(task);
            } else if self.free_in_background == 0 || !(self.help_next() || self.diagnose_next()) {
                break;
            }
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { db: self.writer.db.clone(), shared: self.writer.shared.clone() }
    }

    fn ask(&mut self, mut task: Task) {
        if task.slot.is_cancelled() {
            return;
        }
        if !self.stands(&task) {
            return task.refuse(modified());
        }
        self.free -= 1;
        let (snapshot, sender) = (self.snapshot(), self.sender.clone());
        let client = self.writer.client.clone();
        self.pool.run(move || {
            let again = answer(&mut task, snapshot, &client);
            let _ = sender.send(Event::Free(again.then_some(task)));
        });
    }

    /// Reports whether a question still has the same meaning for the newest text as for the text it was asked about.
    fn stands(&self, task: &Task) -> bool {
        let document = task.subject.as_ref().and_then(|about| self.writer.shared.documents.get(&about.path));
        let (Some(about), Some(document)) = (&task.subject, document) else { return true };
        let touched = document.touched.since(task.after);
        match task.question.overtaken {
            Overtaken::Newest => true,
            Overtaken::SamePlace => touched.is_none_or(|first| about.place <= first),
            Overtaken::SameWord => {
                touched.is_none_or(|first| about.place <= first)
                    && task
                        .behind
                        .as_deref()
                        .zip(self.behind(about).as_deref())
                        .is_some_and(|(before, now)| is_same_word(before, now))
            }
            Overtaken::SameText => touched.is_none(),
        }
    }

    /// Returns the rest of the line after a place in an open document; `None` if the document is not open.
    fn behind(&self, about: &Subject) -> Option<String> {
        let file = self.writer.shared.documents.get(&about.path)?.file;
        let (db, encoding) = (&self.writer.db, self.writer.shared.client.encoding);
        let at = Positions::new(db, file, encoding).offset(about.place);
        let rest = &file.text(db)[usize::from(at)..];
        Some(rest.lines().next().unwrap_or_default().to_owned())
    }

    fn diagnose_next(&mut self) -> bool {
        let generation = self.writer.generation;
        let is_idle = |file: &SourceFile| !self.diagnosing.contains_key(file);
        let Some(at) = self.writer.waiting.iter().position(is_idle) else { return false };
        let Some(file) = self.writer.waiting.remove(at) else { return false };
        self.diagnosing.insert(file, generation);
        let (snapshot, sender, client) = (self.snapshot(), self.sender.clone(), self.writer.client.clone());
        self.in_background(move || {
            diagnose::diagnose(snapshot, file, generation, &client, |done| {
                let _ = sender.send(Event::Diagnosed(done));
            });
        });
        true
    }

    /// Lets a second thread compile kernels of a large file that is being checked. Returns false if no large file waits for
    /// help.
    fn help_next(&mut self) -> bool {
        let Some(file) = self.large.pop_front() else { return false };
        if self.diagnosing.contains_key(&file) {
            let snapshot = self.snapshot();
            self.in_background(move || diagnose::help(snapshot, file));
        }
        true
    }

    fn in_background(&mut self, job: impl FnOnce() + Send + 'static) {
        self.free -= 1;
        self.free_in_background -= 1;
        let sender = self.sender.clone();
        self.pool.run(move || {
            job();
            let _ = sender.send(Event::Rested);
        });
    }

    fn diagnosed(&mut self, done: Diagnosed) {
        let Stage::Whole { adds } = done.stage else { return self.diagnosed_front(done) };
        if self.diagnosing.get(&done.file) == Some(&done.generation) {
            self.diagnosing.remove(&done.file);
        }
        match done.found {
            // The change that cancelled this job has queued open documents again. Queue this file as well, in case it is not
            // open.
            Err(_) => self.writer.diagnose(done.file),
            Ok(_) if done.generation < self.writer.generation && self.writer.is_waiting(done.file) => {}
            Ok(found) => {
                match adds {
                    true => self.writer.with_layouts.insert(done.file),
                    false => self.writer.with_layouts.remove(&done.file),
                };
                self.writer.publish(done.file, found);
            }
        }
    }

    /// Handles the first stage of a large file, whose second stage is being computed.
    fn diagnosed_front(&mut self, done: Diagnosed) {
        let Ok(found) = done.found else { return };
        // A message may have queued the file again although no text changed, for example when the client opened a file that was
        // read from disk. Then the first stage still describes the current text.
        if done.revision == current_revision(&self.writer.db) {
            self.large.push_back(done.file);
            if !self.writer.with_layouts.contains(&done.file) {
                self.writer.publish(done.file, found);
            }
        }
    }
}

/// Runs one attempt to answer. Returns true if the question has to be asked again.
fn answer(task: &mut Task, snapshot: Snapshot, client: &ToClient) -> bool {
    if !task.slot.begin(snapshot.db.cancellation_token()) {
        return false;
    }
    // Conversions also query the database, so they need this catch in addition to the one in `hx-ide`.
    let attempt = catch_unwind(AssertUnwindSafe(|| hx_ide::catch(|| task.run(&snapshot))));
    task.slot.end();
    // Release the snapshot first, because writes wait for it.
    drop(snapshot);
    match attempt {
        Ok(Ok(Attempt::Answered)) => false,
        Ok(Err(Cancelled::Withdrawn)) => {
            task.refuse(Error::request_cancelled());
            false
        }
        // Whether the question still has the same meaning is checked when a reader is free for it.
        Ok(Ok(Attempt::Outdated) | Err(Cancelled::Outdated)) => true,
        Err(panic) => {
            let text = panic_text(&*panic);
            client.error(format!("{} failed: {text}", task.question.method));
            task.refuse(internal(format!("the compiler panicked: {text}")));
            false
        }
    }
}

impl Writer {
    /// Queues a file for diagnostics.
    pub(crate) fn diagnose(&mut self, file: SourceFile) {
        // A client that pulls diagnostics is not sent any.
        if self.shared.client.pulls || !self.db.workspace().files(&self.db).contains(&file) {
            return;
        }
        if !self.is_waiting(file) {
            if self.shared.documents.of(file).is_some() {
                self.waiting.push_front(file);
            } else {
                self.waiting.push_back(file);
            }
        }
    }

    fn is_waiting(&self, file: SourceFile) -> bool {
        self.waiting.contains(&file)
    }

    /// Queues all open documents after a change of a document; `first` is the changed one, which comes before the others.
    pub(crate) fn diagnose_open(&mut self, first: Option<SourceFile>) {
        let open: Vec<SourceFile> = self.shared.documents.iter().map(|(_, document)| document.file).collect();
        for file in open.into_iter().filter(|file| Some(*file) != first).chain(first) {
            self.waiting.retain(|waiting| *waiting != file);
            self.diagnose(file);
        }
    }

    /// Queues all files of the user, after a change that may affect every file.
    pub(crate) fn diagnose_all(&mut self) {
        for file in user_files(&self.db) {
            self.diagnose(file);
        }
        self.diagnose_open(None);
        if self.shared.client.pulls && self.shared.client.refresh_diagnostics && self.ready {
            self.client.send(Outgoing::Refresh(Refresh::Diagnostics));
        }
    }

    /// Sends the diagnostics of a file, unless the client already has them.
    fn publish(&mut self, file: SourceFile, found: Vec<Diagnostic>) {
        let version = self.shared.documents.of(file).map(|document| document.version);
        let known = self.published.get(&file).map(|(version, found)| (*version, found.as_slice()));
        // A new version of an open document is sent even if its diagnostics are unchanged.
        if known.unwrap_or_default() == (version, found.as_slice()) {
            return;
        }
        let uri = crate::files::uri_of(&self.db, &self.shared.documents, &self.shared.std, file);
        let Some(uri) = uri else { return };
        self.client.send(Outgoing::Publish { uri, diagnostics: found.clone(), version });
        self.published.insert(file, (version, found));
    }

    /// Clears the diagnostics of a file that no longer exists.
    pub(crate) fn unpublish(&mut self, file: SourceFile, uri: tower_lsp::ls_types::Uri) {
        self.waiting.retain(|waiting| *waiting != file);
        self.with_layouts.remove(&file);
        if self.published.remove(&file).is_some() {
            self.client.send(Outgoing::Publish { uri, diagnostics: Vec::new(), version: None });
        }
    }

    /// Asks the client to request hints, lenses and tokens again, as far as it supports that.
    pub(crate) fn refresh(&self) {
        if !self.ready {
            return;
        }
        let client = &self.shared.client;
        let wanted = [
            (client.refresh_hints, Refresh::Hints),
            (client.refresh_lenses, Refresh::Lenses),
            (client.refresh_tokens, Refresh::Tokens),
        ];
        for (_, what) in wanted.into_iter().filter(|(supported, _)| *supported) {
            self.client.send(Outgoing::Refresh(what));
        }
    }
}
