//! `cargo xtask solving`: measures the time of the solver on one core.
//!
//! By default it measures every kernel of the standard library with its default arguments, in a table with quantiles. Then come
//! programs with 2, 4, 8 and 16 shared buffers, whose times should grow at most in proportion. Then come programs in which many
//! accesses share one buffer. With `--programs FOLDER` it measures the kernels of a folder instead, for example those that `cargo
//! xtask programs --out FOLDER` writes.
//!
//! The times are those of `hx check --timings`: the minimum of several processes, because other load only adds time. They are not
//! tested, because an acceptable time depends on the machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::typing::{build, say_load};
use crate::{root, say};

/// The number of processes that measure each time; the minimum counts.
const ROUNDS: usize = 11;

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut rounds, mut release, mut programs) = (ROUNDS, true, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--debug" => release = false,
            "--rounds" => {
                let number = args.next().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
                rounds = number.ok_or("`--rounds` needs a number")?;
            }
            "--programs" => programs = Some(args.next().ok_or("`--programs` needs a folder")?),
            other => {
                return Err(format!("`{other}` is not understood: --rounds N, --programs FOLDER, --debug"));
            }
        }
    }
    let hx = build(release)?;
    say_load();
    if let Some(folder) = programs {
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        return each_of(&hx, &here.join(folder), rounds);
    }
    let std = timed(&hx, &root().join("std"), rounds)?;
    say(&format!("{:<24}{:>10}{:>10}   ms", "kernel of std", "layouts", "all"));
    let mut rows: Vec<(&String, &Times)> = std.iter().collect();
    rows.sort_by(|a, b| b.1.layouts.total_cmp(&a.1.layouts));
    for (kernel, times) in &rows {
        say(&format!("{kernel:<24}{:>10.2}{:>10.2}", times.layouts, times.all));
    }
    say_quantiles(std.values().map(|times| times.layouts).collect());

    let folder = std::env::temp_dir().join(format!("hx-solving-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make a folder: {error}"))?;
    let answer = buffers_in(&hx, &folder, rounds).and_then(|()| accesses_in(&hx, &folder, rounds));
    let _ = fs::remove_dir_all(&folder);
    answer
}

/// The time in milliseconds above which a kernel counts as slow.
const LONG: f64 = 300.0;

fn say_quantiles(mut layouts: Vec<f64>) {
    layouts.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = layouts.len().saturating_sub(1);
        layouts.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
    };
    let (median, high, worst) = (at(0.5), at(0.95), at(1.0));
    let long = layouts.iter().filter(|time| **time > LONG).count();
    say(&format!(
        "layouts of {} kernels: median {median:.2}, p95 {high:.2}, worst {worst:.2}; {long} over {LONG} ms",
        layouts.len()
    ));
}

/// Measures the kernels of the files in a folder, and names the slowest.
fn each_of(hx: &Path, folder: &Path, rounds: usize) -> Result<(), String> {
    let listed = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "hx"));
    files.sort();
    let (mut all, mut refused) = (Vec::new(), 0);
    for file in &files {
        match timed(hx, file, rounds) {
            Ok(times) => all.extend(times.into_iter().map(|(kernel, times)| (times.layouts, kernel))),
            // The solver may refuse a random program: count it.
            Err(_) => refused += 1,
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (layouts, kernel) in all.iter().take(10) {
        say(&format!("{kernel:<24}{layouts:>10.2}"));
    }
    say_quantiles(all.iter().map(|(layouts, _)| *layouts).collect());
    say(&format!("{refused} of {} files are refused", files.len()));
    Ok(())
}

/// Measures programs in which several accesses share one buffer, for several counts, shapes and types.
fn accesses_in(hx: &Path, folder: &Path, rounds: usize) -> Result<(), String> {
    say("");
    say(&format!("{:<24}{:>10}   ms", "accesses to a buffer", "layouts"));
    let mut all = Vec::new();
    for count in [6, 7, 8] {
        for dtype in ["i8", "f16", "f32", "f64"] {
            for shape in [&[64, 64][..], &[48, 80], &[24, 40, 56], &[8, 24, 40], &[4, 8, 12, 16]] {
                let name = format!("accesses_{count}_{dtype}_{shape:?}");
                let name = name.replace([',', ' ', '[', ']'], "_");
                let path = folder.join(format!("{name}.hx"));
                let text = accesses(count, dtype, shape);
                fs::write(&path, text).map_err(|error| format!("cannot write a program: {error}"))?;
                // A program that needs more shared memory than there is has no layouts: skip it.
                let Ok(times) = timed(hx, &path, rounds) else { continue };
                all.push((times.values().map(|times| times.layouts).sum::<f64>(), name));
            }
        }
    }
    all.sort_by(|a: &(f64, String), b| b.0.total_cmp(&a.0));
    for (layouts, name) in all.iter().take(10) {
        say(&format!("{name:<34}{layouts:>10.2}"));
    }
    say_quantiles(all.into_iter().map(|(layouts, _)| layouts).collect());
    Ok(())
}

/// Returns a program that writes a buffer once and reads it in `count - 1` orders of its dimensions.
fn accesses(count: usize, dtype: &str, shape: &[usize]) -> String {
    let list = |numbers: &[usize]| {
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        format!("[{}]", numbers.join(", "))
    };
    let mut order: Vec<usize> = (0..shape.len()).collect();
    let (mut params, mut reads) = (format!("x: {dtype}{}", list(shape)), String::new());
    for i in 1..count {
        // Swap two neighbouring dimensions, a step further each time, so that consecutive reads have different orders.
        order.swap((i - 1) % (shape.len() - 1), (i - 1) % (shape.len() - 1) + 1);
        let extents: Vec<usize> = order.iter().map(|d| shape[*d]).collect();
        params.push_str(&format!(", y{i}: mut {dtype}{}", list(&extents)));
        reads.push_str(&format!("    copy(permute(s, {}), y{i});\n", list(&order)));
    }
    format!(
        "kernel accesses({params}) grid [1] threads 128 {{\n    let s = shared_tensor({dtype}, {});\n    \
         copy(x, s);\n    sync();\n{reads}}}\n",
        list(shape)
    )
}

/// Returns the program of a family that has this number of buffers.
type Family = fn(u32) -> String;

fn buffers_in(hx: &Path, folder: &Path, rounds: usize) -> Result<(), String> {
    let series: [(&str, Family); 2] = [("shared buffers", buffers), ("buffers of one product", products)];
    for (name, program) in series {
        say("");
        say(&format!("{name:<24}{:>10}{:>12}   ms", "layouts", "each"));
        for count in [2, 4, 8, 16] {
            let path = folder.join(format!("{}_{count}.hx", name.replace(' ', "_")));
            fs::write(&path, program(count)).map_err(|error| format!("cannot write a program: {error}"))?;
            let times = timed(hx, &path, rounds)?;
            let layouts: f64 = times.values().map(|times| times.layouts).sum();
            say(&format!("{count:<24}{layouts:>10.2}{:>12.3}", layouts / f64::from(count)));
        }
    }
    Ok(())
}

/// Returns a program with `count` shared buffers, multiplied in pairs into one accumulator.
fn products(count: u32) -> String {
    let mut text = String::from(
        "kernel products(a: f16[m, n], c: mut f32[m, n]) grid [1] threads 128 {\n    \
         let acc = register_tensor(f32, [32, 32]);\n    fill(acc, 0.0);\n",
    );
    for i in 0..count {
        text.push_str(&format!(
            "    let s{i} = shared_tensor(f16, [32, 32]);\n    copy(tile(a, [32, 32])[.., .., 0, {i}], s{i});\n"
        ));
    }
    text.push_str("    sync();\n");
    for i in 0..count / 2 {
        text.push_str(&format!("    gemm(acc, s{}, s{});\n", 2 * i, 2 * i + 1));
    }
    text + "    copy(acc, tile(c, [32, 32])[.., .., 0, 0]);\n}\n"
}

/// Returns a program that moves tiles through `count` shared buffers, each written by rows and read transposed.
fn buffers(count: u32) -> String {
    let mut text = String::from(
        "kernel buffers(a: f16[m, n], c: mut f16[m, n]) grid [1] threads 128 {\n    \
         let ga = tile(a, [64, 64]);\n    let gc = tile(c, [64, 64]);\n",
    );
    for i in 0..count {
        text.push_str(&format!(
            "    let s{i} = shared_tensor(f16, [64, 64]);\n    let x{i} = register_tensor(f16, [64, 64]);\n    \
             copy(ga[.., .., {i}, 0], x{i});\n    copy(x{i}, s{i});\n    sync();\n    \
             let y{i} = register_tensor(f16, [64, 64]);\n    copy(s{i}.T, y{i});\n    \
             copy(y{i}, gc[.., .., {i}, 0]);\n"
        ));
    }
    text + "}\n"
}

/// The times of one kernel in milliseconds: of its layouts, and of all stages.
#[derive(Debug, Default)]
struct Times {
    layouts: f64,
    all: f64,
}

/// Returns the times of every kernel of a file or folder, each the minimum of `rounds` processes.
fn timed(hx: &Path, what: &Path, rounds: usize) -> Result<BTreeMap<String, Times>, String> {
    let mut samples: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for _ in 0..rounds {
        let mut command = Command::new(hx);
        command.args(["check", "--timings", "--message-format", "json"]).arg(what).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| format!("hx does not start: {error}"))?;
        if !output.status.success() {
            return Err(format!("hx check fails on {}", what.display()));
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let found: Value = serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}"))?;
            let stages = found["milliseconds"].as_object().ok_or_else(|| format!("no times in `{line}`"))?;
            let all = stages.values().filter_map(Value::as_f64).sum();
            let layouts = stages.get("layouts").and_then(Value::as_f64).unwrap_or_default();
            let kernel = found["kernel"].as_str().unwrap_or_default().to_owned();
            samples.entry(kernel).or_default().push((layouts, all));
        }
    }
    let least = |values: &mut dyn Iterator<Item = f64>| values.min_by(f64::total_cmp).unwrap_or_default();
    let times = samples.into_iter().map(|(kernel, samples)| {
        let layouts = least(&mut samples.iter().map(|sample| sample.0));
        let all = least(&mut samples.iter().map(|sample| sample.1));
        (kernel, Times { layouts, all })
    });
    Ok(times.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_as_many_accesses_as_it_says() {
        for (count, shape) in [(6, &[64, 64][..]), (8, &[4, 8, 12, 16])] {
            let text = accesses(count, "f16", shape);
            assert_eq!(text.matches("copy(").count(), count);
            assert_eq!(text.matches("permute(s, ").count(), count - 1);
        }
    }

    #[test]
    fn programs_have_as_many_buffers_as_they_say() {
        for count in [1, 2, 16] {
            let text = buffers(count);
            assert_eq!(text.matches("shared_tensor").count(), count as usize);
            assert!(text.starts_with("kernel buffers(") && text.ends_with("}\n"));
        }
    }
}
