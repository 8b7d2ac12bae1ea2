//! Runs `hx worker` without `hx`.

fn main() -> std::process::ExitCode {
    hx_runtime::serve(std::io::stdin(), std::io::stdout())
}
