//! Ends the kernel if the process that started it is gone, because then no client could end it.

use crate::sockets::Flags;

/// Starts to watch the parent process, and ends the kernel once that process is gone. Does nothing unless Jupyter has set
/// `JPY_PARENT_PID`: a kernel that was started otherwise may outlive its parent.
#[cfg(unix)]
pub(crate) fn watch(flags: &Flags, wake: impl Fn() + Send + 'static) {
    use std::time::Duration;
    if std::env::var_os("JPY_PARENT_PID").is_none() {
        return;
    }
    let (flags, before) = (flags.clone(), rustix::process::getppid());
    let body = move || {
        while rustix::process::getppid() == before {
            std::thread::sleep(Duration::from_secs(1));
        }
        flags.end();
        wake();
    };
    // Without the thread the kernel works too, but it may outlive its parent.
    let _ = std::thread::Builder::new().name("parent".to_owned()).spawn(body);
}

#[cfg(not(unix))]
pub(crate) fn watch(_: &Flags, _: impl Fn() + Send + 'static) {}
