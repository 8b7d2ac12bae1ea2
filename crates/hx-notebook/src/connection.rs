//! The connection file, by which Jupyter tells a kernel its ports and its key.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The contents of a connection file.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Connection {
    pub transport: String,
    pub ip: String,
    pub shell_port: u16,
    pub iopub_port: u16,
    pub stdin_port: u16,
    pub control_port: u16,
    pub hb_port: u16,
    /// The key of the signatures; empty if messages are not signed.
    pub key: String,
    pub signature_scheme: String,
}

/// Formats the connection without its key: whoever has the key can run code.
impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("ip", &self.ip)
            .field("shell_port", &self.shell_port)
            .finish_non_exhaustive()
    }
}

/// The reason why a connection file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error("cannot read the connection file `{}`: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: std::io::Error },
    #[error("`{}` is not a connection file of Jupyter: {reason}", path.display())]
    NoConnection { path: PathBuf, reason: serde_json::Error },
    #[error("found the transport `{0}`, expected `tcp`: start the kernel manager with `transport = \"tcp\"`")]
    Transport(String),
    #[error("found the signature scheme `{0}`, expected `hmac-sha256`")]
    Scheme(String),
}

impl Connection {
    /// Reads a connection file.
    ///
    /// # Errors
    /// If it cannot be read, lacks a field or has one of another type, or names a transport or a signature scheme that the
    /// kernel does not have.
    pub fn read(path: &Path) -> Result<Connection, ConnectionError> {
        let unreadable = |reason| ConnectionError::Unreadable { path: path.to_owned(), reason };
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let no_connection = |reason| ConnectionError::NoConnection { path: path.to_owned(), reason };
        let connection: Connection = serde_json::from_slice(&bytes).map_err(no_connection)?;
        connection.checked()
    }

    fn checked(self) -> Result<Connection, ConnectionError> {
        if self.transport != "tcp" {
            return Err(ConnectionError::Transport(self.transport));
        }
        if !self.key.is_empty() && self.signature_scheme != "hmac-sha256" {
            return Err(ConnectionError::Scheme(self.signature_scheme));
        }
        Ok(self)
    }

    /// Returns the address of a port, as messages show it.
    pub(crate) fn address(&self, port: u16) -> String {
        // An IPv6 address needs brackets before the port.
        if self.ip.contains(':') {
            format!("tcp://[{}]:{port}", self.ip)
        } else {
            format!("tcp://{}:{port}", self.ip)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changes: &[(&str, &str)]) -> String {
        let mut text = r#"{"transport": "tcp", "ip": "127.0.0.1", "shell_port": 1, "iopub_port": 2, "stdin_port": 3,
            "control_port": 4, "hb_port": 5, "key": "secret", "signature_scheme": "hmac-sha256", "kernel_name": "hx"}"#
            .to_owned();
        for (from, to) in changes {
            text = text.replace(from, to);
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kernel.json");
        std::fs::write(&path, text).expect("it can be written");
        let found =
            Connection::read(&path).map(|found| format!("{} {found:?}", found.address(found.hb_port)));
        found.unwrap_or_else(|error| error.to_string()).replace(&folder.path().display().to_string(), "DIR")
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(read(&[]), "tcp://127.0.0.1:5 Connection { ip: \"127.0.0.1\", shell_port: 1, .. }");
        assert!(read(&[("127.0.0.1", "::1")]).starts_with("tcp://[::1]:5 "));
    }

    #[test]
    fn wrong_files() {
        let ipc =
            "found the transport `ipc`, expected `tcp`: start the kernel manager with `transport = \"tcp\"`";
        assert_eq!(read(&[("tcp", "ipc")]), ipc);
        assert_eq!(
            read(&[("sha256", "md5")]),
            "found the signature scheme `hmac-md5`, expected `hmac-sha256`"
        );
        assert!(
            read(&[("\"key\"", "\"k\"")])
                .starts_with("`DIR/kernel.json` is not a connection file of Jupyter: missing field `key`")
        );
    }
}
