//! The errors of an instance that did not reach a stage, as the error of a launch.

use hx_base::codes;
use hx_compile::{Db, Instance, Stop, instance_errors};
use hx_host::HostError;
use hx_host::device::LaunchError;

/// Returns the errors that stopped an instance before a stage.
pub fn stopped_at<'db>(db: &'db dyn Db, instance: Instance<'db>, stop: &Stop) -> LaunchError {
    let found = instance_errors(db, instance);
    if !found.is_empty() {
        return LaunchError::Found(found.clone());
    }
    let name = instance.kernel(db).name(db);
    LaunchError::call(match stop {
        Stop::Internal { stage, message, .. } => HostError::new(&codes::INTERNAL_ERROR, message.clone())
            .note(format!("it happened while making the {stage}")),
        _ => HostError::new(&codes::INTERNAL_ERROR, format!("`{name}` has no program, and nothing says why")),
    })
}
