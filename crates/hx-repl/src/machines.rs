//! The machine of a session: looked for while the first prompt is already there, and looked for again when it is changed.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use hx_driver::{Machine, MachineError, Setup, open_machine};

/// How often a waiting evaluation asks whether it is still wanted.
const POLL: Duration = Duration::from_millis(10);

type Opened = Result<Arc<Machine>, MachineError>;

/// A machine that is being opened, or has been.
#[derive(Clone, Debug)]
pub struct Machines {
    setup: Setup,
    slot: Arc<(Mutex<Option<Opened>>, Condvar)>,
}

impl Machines {
    /// Begins to look for the machine of a setup. On a GPU the worker gets its context ready as well.
    pub fn open(setup: Setup) -> Machines {
        let machines = Machines { setup: setup.clone(), slot: Arc::default() };
        let slot = Arc::clone(&machines.slot);
        let work = move || {
            let opened = open_machine(&setup).map(Arc::new);
            let machine = opened.as_ref().ok().cloned();
            *slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
            slot.1.notify_all();
            // Whoever waits for the machine may use it meanwhile: the worker takes one request at a time.
            if let Some(machine) = machine {
                machine.warm();
            }
        };
        // Where no thread can be made, waiting does the work.
        if std::thread::Builder::new().name("machine".to_owned()).spawn(work).is_err() {
            let opened = open_machine(&machines.setup).map(Arc::new);
            *machines.slot.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        }
        machines
    }

    /// What the machine was opened from.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The machine, if it is known by now.
    pub fn known(&self) -> Option<Opened> {
        self.slot.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the machine; nothing when the caller gave up.
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

    /// Gets the worker ready again after it died, without making anybody wait.
    pub fn revive(&self) {
        if let Some(Ok(machine)) = self.known() {
            let _ = std::thread::Builder::new().name("revival".to_owned()).spawn(move || machine.warm());
        }
    }
}
