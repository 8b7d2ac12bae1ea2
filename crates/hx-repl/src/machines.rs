//! The machine of a session. The search runs while the first prompt is already shown, and again after each change.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use hx_inspect::Setup;
use hx_launch::{Machine, MachineError, open_machine};

/// Interval at which a waiting evaluation checks whether it was abandoned.
const POLL: Duration = Duration::from_millis(10);

type Opened = Result<Arc<Machine>, MachineError>;

/// A machine that is open, or is being opened.
#[derive(Clone, Debug)]
pub struct Machines {
    setup: Setup,
    slot: Arc<(Mutex<Option<Opened>>, Condvar)>,
}

impl Machines {
    /// Starts to open the machine of a setup on another thread. On a GPU the worker then also prepares its context.
    pub fn open(setup: Setup) -> Machines {
        let machines = Machines { setup: setup.clone(), slot: Arc::default() };
        let slot = Arc::clone(&machines.slot);
        let work = move || {
            let opened = open_machine(&setup).map(Arc::new);
            let machine = opened.as_ref().ok().cloned();
            *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
            slot.1.notify_all();
            // A waiting evaluation may use the machine during the warm-up, because the worker takes one request at a time.
            if let Some(machine) = machine {
                machine.warm();
            }
        };
        // If no thread can be started, open the machine on this one.
        if std::thread::Builder::new().name("machine".to_owned()).spawn(work).is_err() {
            let opened = open_machine(&machines.setup).map(Arc::new);
            *machines.slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        }
        machines
    }

    /// Returns the setup of the machine.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the machine, or `None` while the search runs.
    pub fn known(&self) -> Option<Opened> {
        self.slot.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the machine; `None` if the caller gave up.
    pub fn wait(&self, gave_up: &dyn Fn() -> bool) -> Option<Opened> {
        let mut opened = self.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(opened) = &*opened {
                return Some(opened.clone());
            }
            if gave_up() {
                return None;
            }
            opened = self.slot.1.wait_timeout(opened, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Restarts a dead worker on another thread, so that the prompt does not wait for it.
    pub fn revive(&self) {
        if let Some(Ok(machine)) = self.known() {
            let _ = std::thread::Builder::new().name("revival".to_owned()).spawn(move || machine.warm());
        }
    }
}
