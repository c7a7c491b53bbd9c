//! The reader of a program's output, given bytes instead of a program.

use tokio::io::AsyncWriteExt as _;

use super::{Arc, Context, IncomingMessages, Lines, Mask, Pending, QUEUE, mpsc, read};
use crate::fuzzing::answered;

/// Reads bytes, which come in pieces of a size, as the output of a program; passes on what would
/// be written to its input.
pub(crate) async fn follow_lines(
    (bytes, piece): (&[u8], usize),
    limit: usize,
    (inlet, pending): (IncomingMessages, Arc<Pending>),
    replies: mpsc::Sender<String>,
) {
    let (queue, mut outgoing) = mpsc::channel(QUEUE);
    let (mut program, output) = tokio::io::duplex(piece.max(1));
    let writing = async move {
        // The reader reads to the end, which is when this is dropped.
        let _ = program.write_all(bytes).await;
    };
    let context = Context {
        name: "fuzzed".into(),
        mask: Mask::new(Vec::<String>::new()),
        inlet: inlet.clone(),
        pending,
    };
    let reading = async move {
        read(Lines::new(output, limit), context, queue.downgrade()).await;
        answered(&inlet).await;
        // The last one who could write is gone now.
        drop(queue);
    };
    let passing_on = async move {
        while let Some(message) = outgoing.recv().await {
            let line = String::from_utf8_lossy(&message.line).into_owned();
            if replies.send(line).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(writing, reading, passing_on);
}
