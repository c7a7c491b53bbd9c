//! Signs of life of a program: what it writes, and the time that its processes compute.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, task};

use tokio::io::{AsyncRead, ReadBuf};

#[cfg(target_os = "linux")]
use super::tree::ProcessTable;

/// Signs of life of one program.
#[derive(Debug, Default)]
pub(crate) struct LifeSigns {
    /// Bytes that it wrote to its output and its standard error.
    bytes: AtomicU64,
    /// Process that we started for it; zero while there is none.
    pid: AtomicU32,
}

/// Signs of life up to a moment. Two that differ say that the program did something in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LifeSample {
    bytes: u64,
    pid: u32,
    /// Processor time of all its processes, where the system tells.
    ticks: Option<u64>,
}

/// Sampler of what all programs do.
#[derive(Debug, Clone, Default)]
pub(crate) struct LifeSampler {
    #[cfg(target_os = "linux")]
    processes: Arc<ProcessTable>,
}

/// Stream of a program, whose bytes count as signs of life.
pub(crate) struct WatchedStream<R> {
    stream: R,
    signs: Arc<LifeSigns>,
}

// === impl LifeSigns ===

impl LifeSigns {
    /// Counts what is read of a stream.
    pub(crate) fn watch<R>(self: &Arc<Self>, stream: R) -> WatchedStream<R> {
        WatchedStream {
            stream,
            signs: Arc::clone(self),
        }
    }

    /// Takes note of the process that we started.
    pub(crate) fn set_process(&self, pid: Option<u32>) {
        self.pid.store(pid.unwrap_or_default(), Ordering::Relaxed);
    }
}

// === impl LifeSampler ===

impl LifeSampler {
    /// Signs of now. What other programs were seen to do so long ago may be used again.
    pub(crate) async fn sample(&self, signs: &LifeSigns, oldest: Duration) -> LifeSample {
        let pid = signs.pid.load(Ordering::Relaxed);
        LifeSample {
            bytes: signs.bytes.load(Ordering::Relaxed),
            pid,
            ticks: self.processor_time(pid, oldest).await,
        }
    }

    #[cfg(target_os = "linux")]
    async fn processor_time(&self, pid: u32, oldest: Duration) -> Option<u64> {
        if pid == 0 {
            return None;
        }
        let processes = Arc::clone(&self.processes);
        let read = move || processes.processor_time(pid, oldest);
        tokio::task::spawn_blocking(read).await.ok().flatten()
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(
        clippy::unused_async,
        reason = "only Linux tells, and takes its time for it"
    )]
    async fn processor_time(&self, _pid: u32, _oldest: Duration) -> Option<u64> {
        None
    }
}

// === impl WatchedStream ===

impl<R: AsyncRead + Unpin> AsyncRead for WatchedStream<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        task::ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        self.signs.bytes.fetch_add(read, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn every_byte_is_a_sign_of_life_and_silence_is_none() {
        let (signs, sampler) = (Arc::new(LifeSigns::default()), LifeSampler::default());
        let none = sampler.sample(&signs, Duration::ZERO).await;
        assert_eq!(sampler.sample(&signs, Duration::ZERO).await, none);
        let mut text = String::new();
        let read = signs.watch(&b"a"[..]).read_to_string(&mut text).await;
        assert_eq!((read.ok(), text.as_str()), (Some(1), "a"));
        let some = sampler.sample(&signs, Duration::ZERO).await;
        assert_ne!(some, none);
        assert_eq!(sampler.sample(&signs, Duration::ZERO).await, some);
    }
}
