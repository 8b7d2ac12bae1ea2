//! The device of an evaluation. It waits for the machine only at the first launch of a kernel.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hx_base::interrupt::Until;
use hx_compile::Db;
use hx_hir::Name;
use hx_host::device::{
    CodeAnswer, CodeQuestion, Device, GemmRequest, LaunchError, LaunchReport, LaunchRequest, NoDevice,
    OrderQuestion, Step, Times,
};
use hx_host::{HostError, HostResult};
use hx_launch::{Launcher, Machine};
use hx_layout::Layout;

use crate::machines::Machines;

/// The host time of one launch, including compilation and copies.
#[derive(Clone, Debug)]
pub(crate) struct Launched {
    pub kernel: Name,
    pub time: Duration,
}

/// A device that opens the machine at the first launch.
pub(crate) struct LateDevice<'a> {
    db: &'a dyn Db,
    machines: &'a Machines,
    machine: &'a OnceCell<Arc<Machine>>,
    until: Until<'a>,
    launcher: Option<Launcher<'a>>,
    pub launches: Vec<Launched>,
}

impl<'a> LateDevice<'a> {
    /// `machine` keeps the machine alive while it is in use.
    pub(crate) fn new(
        db: &'a dyn Db,
        machines: &'a Machines,
        machine: &'a OnceCell<Arc<Machine>>,
        until: Until<'a>,
    ) -> LateDevice<'a> {
        LateDevice { db, machines, machine, until, launcher: None, launches: Vec::new() }
    }

    fn launcher(&mut self) -> Result<&mut Launcher<'a>, LaunchError> {
        if self.launcher.is_none() {
            let opened = self
                .machines
                .wait(&|| self.until.is_reached())
                .ok_or_else(|| LaunchError::call(HostError::stopped()))?;
            let opened = opened.map_err(|error| LaunchError::call(error.0))?;
            let machine: &'a Machine = self.machine.get_or_init(|| opened);
            self.launcher = Some(Launcher::new(self.db, machine, self.until));
        }
        self.launcher.as_mut().ok_or_else(|| LaunchError::call(HostError::stopped()))
    }
}

impl Device for LateDevice<'_> {
    fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReport, LaunchError> {
        let launcher = self.launcher()?;
        let start = Instant::now();
        let report = launcher.launch(request)?;
        self.launches.push(Launched { kernel: request.kernel.name.clone(), time: start.elapsed() });
        Ok(report)
    }

    fn gemm(&mut self, request: &GemmRequest) -> Result<(), LaunchError> {
        self.launcher()?.gemm(request)
    }

    fn packed_order(&mut self, question: &OrderQuestion) -> Result<Option<Layout>, LaunchError> {
        self.launcher()?.packed_order(question)
    }

    fn code(&mut self, question: &CodeQuestion) -> HostResult<CodeAnswer> {
        match &mut self.launcher {
            Some(launcher) => launcher.code(question),
            None => NoDevice.code(question),
        }
    }

    fn can_time(&self) -> HostResult<()> {
        match &self.launcher {
            Some(launcher) => launcher.can_time(),
            None => NoDevice.can_time(),
        }
    }

    fn time(&mut self, works: &[Vec<Step>]) -> Result<Vec<Times>, LaunchError> {
        self.launcher()?.time(works)
    }
}
