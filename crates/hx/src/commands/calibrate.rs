//! `hx calibrate`: measures a GPU with microbenchmarks, and writes the numbers of the cost model or compares them with the
//! known ones.

use std::path::Path;
use std::sync::atomic::Ordering;

use hx_base::codes;
use hx_calibrate::{Compared, Device, Figure, Probe, compare, written};
use hx_driver::{Calibration, calibrate, compile_probes};
use hx_inspect::costs_file;
use hx_launch::{Machine, open_compiler};
use hx_target::{BuiltinCosts, COSTS_TEXT};
use hx_workspace::Database;

use super::{announce, exit_of, files, machine, machine_warnings, project_here, setup};
use crate::Exit;
use crate::cli::CalibrateArgs;
use crate::output::Output;

pub(crate) fn run(args: &CalibrateArgs, output: &Output) -> Exit {
    calibrated(args, output).unwrap_or_else(|exit| exit)
}

fn calibrated(args: &CalibrateArgs, output: &Output) -> Result<Exit, Exit> {
    let manifest = project_here(&mut Database::default(), output)?;
    let setup = setup(args.device.device, &args.device.target, manifest.as_ref(), output)?;
    // Read the file first, so that a wrong one is reported before a minute of measuring.
    let named = args.file.as_deref().map(|path| base(path, output)).transpose()?;
    if args.no_run {
        let machine = announce(open_compiler(&setup), output)?;
        let probes: usize = compiled(&machine, output)?.iter().map(|(group, _)| group.len()).sum();
        machine_warnings(std::slice::from_ref(&machine), output);
        output.remark(&format!("{probes} microbenchmarks compiled"));
        return Ok(Exit::Good);
    }
    let machine = machine(&setup, output)?;
    let Machine::Gpu(gpu) = &machine else {
        let help = "run `hx calibrate` where the GPU is; `hx doctor` shows what is missing".to_owned();
        let text = "`hx calibrate` measures a GPU; the simulator has no clock";
        output.placeless_parts(&codes::NO_GPU, text, &[], &[help]);
        return Err(Exit::Environment);
    };
    let code = compiled(&machine, output)?;
    let stop = crate::interrupt::flag();
    let stopped = || stop.load(Ordering::Relaxed);
    let found =
        calibrate(gpu, &code, &stopped, |probe, value, beside| output.result(&line(probe, value, beside)));
    machine_warnings(std::slice::from_ref(&machine), output);
    if stopped() {
        return Err(Exit::Interrupted);
    }
    let target = machine.target();
    let (major, minor) = gpu.info.capability;
    let device = Device {
        name: &gpu.info.name,
        capability: [major, minor],
        multiprocessors: gpu.info.multiprocessors,
    };
    // Begin with the numbers that are nearest to those of the device.
    let nearest = || {
        let built_in = BuiltinCosts::of_device(device.name);
        built_in
            .or_else(|| BuiltinCosts::of_capability(device.capability))
            .map_or(COSTS_TEXT, |file| file.text)
    };
    let base = named.unwrap_or_else(|| nearest().to_owned());
    let failed = |text: String| {
        output.placeless_parts(&codes::INTERNAL_ERROR, &text, &[], &[]);
        Exit::Bad
    };
    if args.check {
        output.result(&table(&compare(&base, &found.results, target).map_err(failed)?));
    }
    if args.out.is_none() && !args.keep {
        return Ok(exit(&found));
    }
    let text = written(&base, &found.results, target, &device).map_err(failed)?;
    if let Some(path) = &args.out {
        files::write(path, &text, output)?;
    }
    if args.keep {
        keep(device.name, &text, output)?;
    }
    Ok(exit(&found))
}

/// Writes the file of a device to the user's data folder, where it is found by the name of the device.
///
/// # Errors
/// If there is no data folder, or it cannot be written; the reason has been reported.
fn keep(device: &str, text: &str, output: &Output) -> Result<(), Exit> {
    let Some(path) = costs_file(device) else {
        let text = "there is no home folder: set HX_DATA_DIR to an absolute path";
        output.placeless_parts(&codes::IO_ERROR, text, &[], &[]);
        return Err(Exit::Environment);
    };
    hx_worker::own_files::replace(&path, text.as_bytes())
        .map_err(|error| files::fault("write", &path, &error, output))?;
    output.remark(&format!("kept: `{}`; kernels for {device} follow it from now on", path.display()));
    Ok(())
}

/// Returns the text of `--file`.
///
/// # Errors
/// If the file cannot be read or is not a file of the cost model; the reason has been reported.
fn base(path: &Path, output: &Output) -> Result<String, Exit> {
    let text = files::read(path, output)?;
    hx_target::Costs::read(&text).map_err(|error| refused(path, &error, output))?;
    Ok(text)
}

fn refused(path: &Path, error: &str, output: &Output) -> Exit {
    let help = "`hx calibrate --out FILE` writes such a file".to_owned();
    let text = format!("`{}` is not a file of the cost model: {error}", path.display());
    output.placeless_parts(&codes::IO_ERROR, &text, &[], &[help]);
    Exit::Bad
}

fn compiled(machine: &Machine, output: &Output) -> Result<Vec<(Vec<Probe>, hx_worker::Compiled)>, Exit> {
    compile_probes(machine).map_err(|error| {
        output.placeless(&error);
        exit_of(&error)
    })
}

fn exit(found: &Calibration) -> Exit {
    if found.failed.is_empty() { Exit::Good } else { Exit::Bad }
}

/// Formats the result of a probe: its name with cycles or bytes per cycle, or the reason why it failed. `beside` is in bytes per
/// cycle.
fn line(probe: &Probe, value: Result<f64, &str>, beside: Option<f64>) -> String {
    let unit = match probe.figure {
        Figure::Cycles => "cycles",
        Figure::PerCycle => "bytes a cycle",
    };
    let beside = beside.map_or_else(String::new, |bytes| format!(", beside it {bytes:.3} a cycle"));
    match value {
        Ok(value) => format!("{:44} {value:>10.2} {unit}{beside}\n", probe.name),
        Err(reason) => format!("{:44} failed: {reason}\n", probe.name),
    }
}

/// Formats measured numbers beside those of the file, and marks each that differs by more than 10 %.
fn table(all: &[Compared]) -> String {
    let mut out = format!("\n{:44} {:>10} {:>10} {:>7}\n", "", "measured", "known", "ratio");
    for one in all {
        let mark = if one.differs() { "  differs" } else { "" };
        let Compared { name, measured, known } = one;
        out += &format!("{name:44} {measured:>10.2} {known:>10.2} {:>7.3}{mark}\n", one.ratio());
    }
    let names: Vec<&str> = all.iter().filter(|one| one.differs()).map(|one| one.name.as_str()).collect();
    out + &match names.as_slice() {
        [] => format!("all {} numbers are within 10 %\n", all.len()),
        names => format!(
            "{} of {} numbers differ by more than 10 %: {}\n",
            names.len(),
            all.len(),
            names.join(", ")
        ),
    }
}
