//! `hx tune`: finds the fastest compile-time arguments for shapes, and adds them to the tuned file.

mod report;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hx_base::{Diagnostic, SourceFile, codes};
use hx_driver::Roofs;
use hx_driver::tune::{
    Baseline, Prepared, Progress as Step, ShapeResult, TuneError, TuneRequest, kernel_of, parse_shape,
    prepare, tune,
};
use hx_host::HostError;
use hx_inspect::Overrides;
use hx_launch::Machine;
use hx_workspace::{Database, TunedFile, updated};

use super::{Loaded, files, limit_memory, load, machine_warnings, machines, setup};
use crate::Exit;
use crate::cli::TuneArgs;
use crate::output::Output;
use crate::progress::Progress;

pub(crate) fn run(args: TuneArgs, output: &Output) -> Exit {
    tuned(&args, output).unwrap_or_else(|exit| exit)
}

fn tuned(args: &TuneArgs, output: &Output) -> Result<Exit, Exit> {
    let shapes = shapes(args, output)?;
    let mut loaded = load(std::slice::from_ref(&args.file), output)?;
    let &[file] = loaded.files.as_slice() else {
        output.usage(&format!("`{}` is a folder; `hx tune` takes one file", args.file));
        return Err(Exit::Usage);
    };
    let front = hx_inspect::front_diagnostics(&loaded.db, file);
    output.diagnostics(&loaded.db, &front);
    if front.iter().any(Diagnostic::is_error) {
        return Err(Exit::Bad);
    }
    let setup = setup(args.device.device, &args.device.target, loaded.manifest.as_ref(), output)?;
    limit_memory(args.memory, loaded.manifest.as_ref());
    let out = out(args, &loaded);
    // Read the file of earlier results first, so that an error in it is reported before minutes of measuring.
    if let Some(out) = out.as_ref().filter(|_| !args.dry_run) {
        results_so_far(&mut loaded, out, output)?;
    }
    let machines = machines(&setup, output)?;
    if !args.dry_run {
        can_measure(&machines, output)?;
    }
    let request = TuneRequest {
        kernel: args.kernel.clone(),
        limit: args.limit as usize,
        all: args.all,
        members: args.members,
        baseline: Baseline::parse(&args.baseline),
        cache: setup.cache.as_ref().map(|cache| cache.dir().to_owned()),
        fresh: args.fresh,
        rotate: usize::from(args.rotate),
        hx: env!("CARGO_PKG_VERSION").to_owned(),
        dry_run: args.dry_run,
    };
    let mut session = Session {
        args,
        output,
        loaded: &mut loaded,
        file,
        machines: &machines,
        request,
        out,
        results: Vec::new(),
        exit: Exit::Good,
    };
    for (round, shapes) in shapes.chunks(machines.len()).enumerate() {
        session.shapes(round * machines.len(), shapes)?;
        if crate::interrupt::requested() {
            output.remark("interrupted: what is measured is kept, and the same command goes on from there");
            break;
        }
    }
    let (results, exit) = (session.results, session.exit);
    machine_warnings(&machines, output);
    write_results(args, &results, output)?;
    Ok(loaded.exit(exit))
}

/// Checks that all machines are GPUs of one kind, because the times of a result must come from one kind of device.
///
/// # Errors
/// `Exit::Environment`; the reason has been reported.
fn can_measure(machines: &[Machine], output: &Output) -> Result<(), Exit> {
    if !machines.iter().all(Machine::is_gpu) {
        let text = "tuning needs a GPU; the simulator does not time";
        let help = ["`--dry-run` ranks the candidates by their estimates on any machine".to_owned()];
        output.placeless_parts(&codes::NO_GPU, text, &[], &help);
        return Err(Exit::Environment);
    }
    let gpus = || machines.iter().filter_map(Machine::gpu);
    let other = gpus().zip(gpus().skip(1)).find(|(one, next)| one.info.name != next.info.name);
    if let Some((one, next)) = other {
        let text = format!(
            "found GPUs of several kinds, cuda:{} is {} and cuda:{} is {}, expected one kind: results are of one device",
            one.info.ordinal, one.info.name, next.info.ordinal, next.info.name
        );
        let help = ["`--device cuda:N` measures on one of them".to_owned()];
        output.placeless_parts(&codes::NO_GPU, &text, &[], &help);
        return Err(Exit::Environment);
    }
    Ok(())
}

/// Parses the shapes of `--shapes`, before anything is loaded.
///
/// # Errors
/// `Exit::Usage` if one cannot be parsed; the reason has been reported.
fn shapes(args: &TuneArgs, output: &Output) -> Result<Vec<Overrides>, Exit> {
    let parse = |text: &String| {
        parse_shape(text).map_err(|reason| {
            output.usage(&format!("--shapes {text}: {reason}"));
            Exit::Usage
        })
    };
    args.shapes.iter().map(parse).collect()
}

/// Returns the path of the file for the chosen arguments; `None` if none is to be written.
fn out(args: &TuneArgs, loaded: &Loaded) -> Option<PathBuf> {
    match &args.out {
        Some(path) if path == Path::new("-") => None,
        Some(path) => Some(path.clone()),
        None => Some(PathBuf::from(loaded.db.tuned_path(&args.file))),
    }
}

/// Reads the results that the file has so far; `None` if there is no file.
///
/// # Errors
/// `Exit::Bad` if the file cannot be read or has errors, which have been reported.
fn results_so_far(loaded: &mut Loaded, out: &Path, output: &Output) -> Result<Option<TunedFile>, Exit> {
    let file = loaded.db.tuned(&out.to_string_lossy()).map_err(|error| {
        output.placeless_parts(error.code(), &error.to_string(), &[], &[]);
        Exit::Bad
    })?;
    let found = file.as_ref().map(|file| file.diagnostics.as_slice()).unwrap_or_default();
    output.diagnostics(&loaded.db, found);
    if found.iter().any(Diagnostic::is_error) { Err(Exit::Bad) } else { Ok(file) }
}

/// One `hx tune`: its inputs, and the results so far.
struct Session<'a> {
    args: &'a TuneArgs,
    output: &'a Output,
    loaded: &'a mut Loaded,
    file: SourceFile,
    machines: &'a [Machine],
    request: TuneRequest,
    out: Option<PathBuf>,
    results: Vec<ShapeResult>,
    exit: Exit,
}

/// The inputs of tuning for one shape. Shapes that are tuned at the same time share all but the machine and the shape.
#[derive(Clone, Copy)]
struct Job<'a> {
    args: &'a TuneArgs,
    output: &'a Output,
    file: SourceFile,
    machine: &'a Machine,
    request: &'a TuneRequest,
    shape: &'a Overrides,
}

/// The result of one shape.
enum Outcome {
    /// The candidates were ranked, not measured: their table, and the same as data.
    Ranked(String, ShapeResult),
    /// The candidates were measured. The second part is a warning about times that could not be kept.
    Tuned(ShapeResult, Option<String>),
}

/// Stack of a thread that tunes, in bytes. The compiler's passes recurse into nested expressions.
const STACK: usize = 64 << 20;

impl Session<'_> {
    /// Tunes for some shapes, at most one for each machine; `first` is the position of the first one in the command, from 0.
    /// All candidates of a shape are measured on one machine, so their times compare. An error ends its shape, and the others
    /// still run.
    ///
    /// # Errors
    /// `Exit::Usage` for a wrong use, and `Exit::Bad` if a result cannot be added to the tuned file: both end the command, and
    /// the reason has been reported.
    fn shapes(&mut self, first: usize, shapes: &[Overrides]) -> Result<(), Exit> {
        let outcomes = match shapes {
            [shape] => vec![self.alone(first, shape)],
            _ => self.beside_each_other(first, shapes),
        };
        for (at, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(Outcome::Tuned(result, warning)) => {
                    if let Some(warning) = warning {
                        self.output.placeless_parts(&codes::CACHE_UNWRITABLE, &warning, &[], &[]);
                    }
                    self.take(result)?;
                }
                Ok(Outcome::Ranked(table, result)) => {
                    results(self.args, &table, self.output);
                    self.results.push(result);
                }
                Err(TuneError::Usage(text)) => {
                    self.output.usage(&text);
                    return Err(Exit::Usage);
                }
                Err(error) => self.report(&self.args.shapes[first + at], error),
            }
        }
        Ok(())
    }

    fn job<'s>(&'s self, machine: &'s Machine, shape: &'s Overrides) -> Job<'s> {
        let (args, output, request) = (self.args, self.output, &self.request);
        Job { args, output, file: self.file, machine, request, shape }
    }

    /// Tunes for the shape at this position of the command on the first machine, and shows every step.
    ///
    /// # Errors
    /// As for [`Job::run`].
    fn alone(&self, at: usize, shape: &Overrides) -> Result<Outcome, TuneError> {
        let of = self.args.shapes.len();
        let heading = if of > 1 { format!("shape {} of {of}: ", at + 1) } else { String::new() };
        let progress = Progress::new(self.output);
        let on_progress = |step: Step| match step {
            Step::Compiled { done, of } => {
                progress.show(&format!("{heading}candidates to compile:"), done, of);
            }
            Step::Checked { done, of } => progress.show(&format!("{heading}results to check:"), done, of),
            Step::Measured { round, rounds, done, of } => {
                progress.show(&format!("{heading}round {} of {rounds}, candidates:", round + 1), done, of);
            }
        };
        let tuned = self.job(&self.machines[0], shape).run(&self.loaded.db, &on_progress);
        progress.clear();
        tuned
    }

    /// Tunes for each shape on a machine of its own, and shows how many shapes are done; `first` are done before. The outcomes
    /// have the order of the shapes.
    fn beside_each_other(&self, first: usize, shapes: &[Overrides]) -> Vec<Result<Outcome, TuneError>> {
        let (of, progress) = (self.args.shapes.len(), Progress::new(self.output));
        let stage = format!("shapes to tune, {} at the same time:", self.machines.len());
        let done = AtomicUsize::new(first);
        progress.show(&stage, first, of);
        let tuned = std::thread::scope(|scope| {
            let start = |(shape, machine)| {
                let (db, job) = (self.loaded.db.clone(), self.job(machine, shape));
                let (done, progress, stage) = (&done, &progress, &stage);
                let work = move || {
                    let outcome = job.run(&db, &|_| ());
                    progress.show(stage, done.fetch_add(1, Ordering::Relaxed) + 1, of);
                    outcome
                };
                std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)
            };
            let threads: Vec<_> = shapes.iter().zip(self.machines).map(start).collect();
            let ended = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(error) => {
                    Err(HostError::new(&codes::IO_ERROR, format!("no thread can be started: {error}")).into())
                }
            };
            threads.into_iter().map(ended).collect()
        });
        progress.clear();
        tuned
    }

    /// Prints a result, and adds it to the tuned file at once.
    ///
    /// # Errors
    /// `Exit::Bad` if the tuned file has errors, or cannot be read or written; the reason has been reported.
    fn take(&mut self, result: ShapeResult) -> Result<(), Exit> {
        results(self.args, &report::table(&result), self.output);
        if let (Some(out), Some(entry)) = (self.out.clone(), result.entry.clone()) {
            let so_far = results_so_far(self.loaded, &out, self.output)?;
            let folder = std::path::absolute(&out).ok().and_then(|path| path.parent().map(Path::to_owned));
            let folder = folder.unwrap_or_default().to_string_lossy().replace('\\', "/");
            let path = self.loaded.db.path_from(&folder, self.file);
            let entry = hx_workspace::TunedEntry { kernel: format!("{path}::{}", entry.kernel), ..entry };
            let text = updated(&self.loaded.db, so_far.as_ref(), &[entry]);
            files::write(&out, &text, self.output)?;
            self.output.remark(&format!("written to {}", out.display()));
        }
        self.results.push(result);
        Ok(())
    }

    fn report(&mut self, shape: &str, error: TuneError) {
        let (db, kernel) = (&self.loaded.db, &self.request.kernel);
        self.exit = Exit::Bad;
        match error {
            TuneError::Usage(text) => self.output.usage(&text),
            TuneError::Launch(error) => {
                let (error, found) = error.into_parts();
                if found.is_empty() && !crate::interrupt::requested() {
                    self.output.placeless(&error);
                }
                self.output.diagnostics(db, &found);
                if super::exit_of(&error) == Exit::Environment {
                    self.exit = Exit::Environment;
                }
            }
            TuneError::Wrong(wrong) => {
                for (candidate, error) in wrong {
                    let message = format!(
                        "`{kernel}` with {candidate} computes another result than with the defaults: {}",
                        error.message
                    );
                    let error =
                        error.notes.iter().fold(HostError::new(error.code, message), |e, note| e.note(note));
                    self.output.placeless(&error);
                }
                self.output
                    .remark(&format!("nothing was measured for {shape}, because a candidate is wrong"));
            }
        }
    }
}

impl Job<'_> {
    /// Ranks the candidates of the shape and measures them; with `--dry-run` it ranks them only.
    ///
    /// # Errors
    /// If the request is invalid, a launch fails, or candidates compute different results.
    fn run(&self, db: &Database, on_progress: &(dyn Fn(Step) + Sync)) -> Result<Outcome, TuneError> {
        let Job { machine, request, .. } = *self;
        let kernel = kernel_of(db, self.file, &request.kernel)?;
        let prepared = prepare(db, kernel, machine, self.shape, request)?;
        prepared.remarks.iter().for_each(|line| self.output.remark(line));
        if self.args.dry_run {
            let table = ranking(&request.kernel, &prepared);
            return Ok(Outcome::Ranked(table, prepared.unmeasured(&request.kernel, machine.target().name())));
        }
        let stop: &AtomicBool = crate::interrupt::flag();
        let (result, warning) = tune(db, kernel, machine, &prepared, request, stop, on_progress)?;
        Ok(Outcome::Tuned(result, warning))
    }
}

/// Formats the candidates with their estimates in microseconds, below a line that counts the refused combinations.
fn ranking(kernel: &str, prepared: &Prepared) -> String {
    let name = |entrant: &hx_driver::tune::Entrant| {
        if entrant.is_default { format!("{} (defaults)", entrant.name) } else { entrant.name.clone() }
    };
    let width = prepared.entrants.iter().map(|entrant| name(entrant).chars().count()).max().unwrap_or(0);
    let mut out = format!("{kernel} for {}\n  {}\n", prepared.shape_text(), prepared.space.summary);
    for entrant in &prepared.entrants {
        let micros = entrant.estimate.unwrap_or(f64::NAN);
        let bound = entrant.bound.as_ref().map(|bound| format!("  bound by {bound}")).unwrap_or_default();
        out += &format!("  {:width$}  {micros:>9.2} µs{bound}\n", name(entrant));
    }
    out
}

/// Prints text as a result, or as a remark if stdout is reserved for JSON.
fn results(args: &TuneArgs, text: &str, output: &Output) {
    if args.json.as_deref() == Some(Path::new("-")) {
        output.remark(text.trim_end());
    } else {
        output.result(text);
    }
}

/// Writes the files of `--report` and `--json`. A dry run writes no report, because it measures nothing.
///
/// # Errors
/// `Exit::Bad` if a file cannot be written; the reason has been reported.
fn write_results(args: &TuneArgs, results: &[ShapeResult], output: &Output) -> Result<(), Exit> {
    if let Some(path) = args.report.as_ref().filter(|_| !results.is_empty() && !args.dry_run) {
        let roofs =
            Roofs { flops: args.roof_tflops.map(|t| t * 1e12), bytes: args.roof_gbs.map(|g| g * 1e9) };
        files::write(path, &report::page(results, &roofs), output)?;
        output.remark(&format!("report: {}", path.display()));
    }
    let Some(path) = &args.json else { return Ok(()) };
    let text = serde_json::to_string_pretty(results).map_err(|error| {
        output.placeless_parts(&codes::INTERNAL_ERROR, &error.to_string(), &[], &[]);
        Exit::Bad
    })?;
    if path == Path::new("-") {
        output.result(&format!("{text}\n"));
        return Ok(());
    }
    files::write(path, &format!("{text}\n"), output)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use hx_target::Target;

    use super::*;
    use crate::cli::{Cli, Color, Command, MessageFormat};

    const SCALE: &str = "kernel scale<B = 64>(x: f32[n], y: mut f32[n])
    tune B in [32, 64, 128]
    grid [cdiv(n, B)]
    threads 32
{
    copy(load(tile(x, [B])[.., block_idx]) * 2.0, tile(y, [B])[.., block_idx]);
}
";

    /// Two machines take five shapes in three rounds. The results have the order of the command line.
    #[test]
    fn shapes_are_tuned_beside_each_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.hx");
        std::fs::write(&path, SCALE).expect("writable");
        let mut words = vec!["hx".to_owned(), "tune".to_owned()];
        words.extend([path.to_string_lossy().into_owned(), "scale".to_owned(), "--dry-run".to_owned()]);
        words.extend([128, 4096, 256, 1024, 512].map(|n| format!("--shapes=n={n}")));
        let Some(Command::Tune(args)) = Cli::parse_from(&words).command else { panic!("it tunes") };
        let output = Output::new(Color::Never, MessageFormat::Human);
        let shapes = shapes(&args, &output).expect("they are shapes");
        let mut loaded = load(std::slice::from_ref(&args.file), &output).expect("it can be read");
        let simulator = || Machine::Simulator { target: Target::usual(), instead_of: None, compiler: None };
        let machines = [simulator(), simulator()];
        let request = TuneRequest {
            kernel: args.kernel.clone(),
            limit: 24,
            all: false,
            members: false,
            baseline: Baseline::Defaults,
            cache: None,
            fresh: false,
            rotate: 1,
            hx: "test".to_owned(),
            dry_run: true,
        };
        let file = loaded.files[0];
        let mut session = Session {
            args: &args,
            output: &output,
            loaded: &mut loaded,
            file,
            machines: &machines,
            request,
            out: None,
            results: Vec::new(),
            exit: Exit::Good,
        };
        for (round, some) in shapes.chunks(machines.len()).enumerate() {
            session.shapes(round * machines.len(), some).expect("each can be ranked");
        }
        let found: Vec<&str> = session.results.iter().map(|result| result.shape.as_str()).collect();
        assert_eq!(found, ["n = 128", "n = 4096", "n = 256", "n = 1024", "n = 512"]);
        assert!(session.results.iter().all(|result| result.rows.len() == 3));
    }
}
