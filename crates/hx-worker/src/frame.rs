//! Frames: a JSON header and raw blobs, each preceded by its length.
//!
//! Buffers of gigabytes travel beside the header, never inside of the JSON. A frame starts with a magic word, so that a stray
//! line on the pipe is noticed and not read as a length. This module does not know the meaning of the headers.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

const MAGIC: [u8; 4] = *b"hxw1";
const MAX_HEADER: u64 = 64 << 20;
const MAX_BLOBS: u32 = 1 << 16;
const MAX_BLOB: u64 = 64 << 30;

/// A message: its JSON header, and its blobs in the order of their numbers in the header.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The header, UTF-8 JSON.
    pub header: Vec<u8>,
    /// The blobs, which the header names by their positions.
    pub blobs: Vec<Vec<u8>>,
}

/// The reason why a frame could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other side closed the pipe between two frames.
    #[error("the pipe was closed")]
    Closed,
    /// The bytes are not a frame.
    #[error("{0}")]
    Malformed(String),
    /// Reading failed, or the pipe was closed inside of a frame.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Frame {
    /// Encodes `header` as JSON beside `blobs`.
    ///
    /// # Errors
    /// If the header cannot be encoded.
    pub fn new<T: Serialize>(header: &T, blobs: Vec<Vec<u8>>) -> Result<Frame, FrameError> {
        let header = serde_json::to_vec(header).map_err(|error| FrameError::Malformed(error.to_string()))?;
        Ok(Frame { header, blobs })
    }

    /// Decodes the header.
    ///
    /// # Errors
    /// If the header is not JSON of this type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, FrameError> {
        serde_json::from_slice(&self.header)
            .map_err(|error| FrameError::Malformed(format!("a header that cannot be read: {error}")))
    }

    /// Writes the frame and flushes the output.
    ///
    /// # Errors
    /// If writing fails, or the header or the number of blobs does not fit 32 bits.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut head = Vec::with_capacity(12 + 8 * self.blobs.len() + self.header.len());
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&length_u32(self.header.len())?.to_le_bytes());
        head.extend_from_slice(&length_u32(self.blobs.len())?.to_le_bytes());
        for blob in &self.blobs {
            head.extend_from_slice(&(blob.len() as u64).to_le_bytes());
        }
        head.extend_from_slice(&self.header);
        out.write_all(&head)?;
        for blob in &self.blobs {
            out.write_all(blob)?;
        }
        out.flush()
    }

    /// Reads the next frame.
    ///
    /// # Errors
    /// [`FrameError::Closed`] if the pipe ends before the first byte; otherwise if reading fails, the pipe ends inside of the frame, or
    /// the bytes are not a frame within the limits.
    pub fn read_from(input: &mut impl Read) -> Result<Frame, FrameError> {
        let mut magic = [0u8; 4];
        read_first(input, &mut magic)?;
        if magic != MAGIC {
            return Err(FrameError::Malformed(format!(
                "expected a frame, found the bytes {:?}",
                String::from_utf8_lossy(&magic)
            )));
        }
        let header_len = u64::from(read_u32(input)?);
        let blob_count = read_u32(input)?;
        if header_len > MAX_HEADER || blob_count > MAX_BLOBS {
            return Err(FrameError::Malformed(format!(
                "a frame with a header of {header_len} bytes and {blob_count} blobs is past the limits"
            )));
        }
        let mut lengths = Vec::new();
        for _ in 0..blob_count {
            let mut bytes = [0u8; 8];
            input.read_exact(&mut bytes)?;
            let length = u64::from_le_bytes(bytes);
            if length > MAX_BLOB {
                return Err(FrameError::Malformed(format!("a blob of {length} bytes is past the limit")));
            }
            lengths.push(length);
        }
        let header = read_vec(input, header_len)?;
        let blobs = lengths.into_iter().map(|length| read_vec(input, length)).collect::<Result<_, _>>()?;
        Ok(Frame { header, blobs })
    }
}

fn length_u32(length: usize) -> io::Result<u32> {
    u32::try_from(length)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a frame header past 4 GiB"))
}

/// Fills `buffer`. Distinguishes a pipe that ends before the first byte from one that ends inside of the buffer.
fn read_first(input: &mut impl Read, buffer: &mut [u8]) -> Result<(), FrameError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) if filled == 0 => return Err(FrameError::Closed),
            Ok(0) => return Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn read_u32(input: &mut impl Read) -> Result<u32, FrameError> {
    let mut bytes = [0u8; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Reads `length` bytes. Memory grows only with the bytes that arrive, so a false length does not exhaust it.
fn read_vec(input: &mut impl Read, length: u64) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(64 << 20)).unwrap_or(0));
    input.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes)
    } else {
        Err(FrameError::Io(io::ErrorKind::UnexpectedEof.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_the_pipe() {
        let frame = Frame::new(&("launch", 3), vec![vec![1, 2, 3], Vec::new(), vec![9; 70_000]]).unwrap();
        let mut bytes = Vec::new();
        frame.write_to(&mut bytes).unwrap();
        frame.write_to(&mut bytes).unwrap();
        let mut input = bytes.as_slice();
        assert_eq!(Frame::read_from(&mut input).unwrap(), frame);
        let second = Frame::read_from(&mut input).unwrap();
        assert_eq!(second.parse::<(String, i32)>().unwrap(), ("launch".to_owned(), 3));
        assert!(matches!(Frame::read_from(&mut input), Err(FrameError::Closed)));
    }

    #[test]
    fn broken_frames_are_told_apart() {
        let mut bytes = Vec::new();
        Frame::new(&1, vec![vec![7; 10]]).unwrap().write_to(&mut bytes).unwrap();
        let cut = Frame::read_from(&mut &bytes[..bytes.len() - 1]);
        assert!(matches!(cut, Err(FrameError::Io(_))), "{cut:?}");
        let noise = Frame::read_from(&mut b"hello, world".as_slice());
        assert_eq!(noise.unwrap_err().to_string(), "expected a frame, found the bytes \"hell\"");
        let mut huge = bytes.clone();
        huge[12..20].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(Frame::read_from(&mut huge.as_slice()), Err(FrameError::Malformed(_))));
    }
}
