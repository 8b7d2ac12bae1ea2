//! Watches the process that started the kernel: without it nobody could end the kernel.

use crate::sockets::Flags;

/// Ends the kernel when the process of Jupyter is gone. Jupyter asks for this with a variable that names the process; a kernel
/// started otherwise may outlive its parent.
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
    // Without the thread the kernel works as well; it may only outlive its parent.
    let _ = std::thread::Builder::new().name("parent".to_owned()).spawn(body);
}

#[cfg(not(unix))]
pub(crate) fn watch(_: &Flags, _: impl Fn() + Send + 'static) {}
