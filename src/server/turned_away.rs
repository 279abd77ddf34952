//! Connections for which there is no room: each is told so, and let go.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::chat::Shared;
use super::exchange::Outcome;
use crate::message::to_json;
use crate::provider::wire::{ErrorBody, ErrorObject};

/// How many are being told at once; more are let go without a word.
const MOST_TOLD: usize = 64;
/// How long one has to take it in.
const TO_LISTEN: Duration = Duration::from_secs(1);

const WHY: &str = "every connection that this server bears is at work: try again";

/// Tells connections that there is no room for them.
#[derive(Clone, Debug)]
pub(super) struct Doorkeeper {
    told: Arc<Semaphore>,
}

impl Default for Doorkeeper {
    fn default() -> Self {
        Self {
            told: Arc::new(Semaphore::new(MOST_TOLD)),
        }
    }
}

impl Doorkeeper {
    /// Answers 503 to whatever `stream` was going to ask, and closes it.
    pub(super) async fn turn_away(&self, mut stream: TcpStream, shared: &Shared) {
        shared.begin(None).decided(Outcome::Refused {
            status: 503,
            why: WHY.to_owned(),
        });
        let Ok(_told) = self.told.try_acquire() else {
            return;
        };
        // Whoever does not listen is let go all the same.
        let _ = timeout(TO_LISTEN, tell(&mut stream)).await;
    }
}

/// Says it, and reads on for a moment: a connection that is closed with something unread is reset,
/// and what was said may be lost with it.
async fn tell(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(&refusal()).await?;
    stream.shutdown().await?;
    let mut unread = [0; 4_096];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

fn refusal() -> Vec<u8> {
    let error = ErrorObject {
        message: WHY.to_owned(),
        kind: Some("server_error".to_owned()),
        param: None,
        code: Some("overloaded".to_owned()),
    };
    let body = to_json(&ErrorBody { error });
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
