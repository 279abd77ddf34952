//! A run's bytes over a bare TCP connection: what the wire itself takes, for comparison.
//!
//! A [`Relay`] stands between a run and its server and keeps what each says. [`round_trips`] then
//! exchanges the same bytes between two threads that do nothing but read and write.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinHandle, JoinSet};

use crate::clock::{Clock, RealClock};

/// How much is read at once.
const PIECE: usize = 16 << 10;
/// Longer than any such exchange takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request and its reply, head and body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    request: Vec<u8>,
    reply: Vec<u8>,
}

/// What was said on each connection, in the order in which they were made.
type Heard = Arc<Mutex<Vec<Vec<Exchange>>>>;

/// Passes connections on to a server and keeps what is said.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    heard: Heard,
    task: JoinHandle<()>,
}

impl Relay {
    /// A relay to the server at `to`; needs a runtime.
    ///
    /// # Errors
    /// The system gives no port.
    pub async fn to(to: SocketAddr) -> io::Result<Self> {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let heard = Heard::default();
        let task = tokio::spawn(accept(listener, to, Arc::clone(&heard)));
        Ok(Self {
            address,
            heard,
            task,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Hangs up, and tells what was said.
    #[must_use]
    pub fn finish(self) -> Vec<Exchange> {
        self.task.abort();
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *heard).concat()
    }
}

async fn accept(listener: tokio::net::TcpListener, to: SocketAddr, heard: Heard) {
    // Dropped with this task, and the connections with it.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let heard = Arc::clone(&heard);
        connections.spawn(pass_on(client, to, heard));
    }
}

/// Passes on both ways until one side has nothing more to say.
async fn pass_on(
    mut client: tokio::net::TcpStream,
    to: SocketAddr,
    heard: Heard,
) -> io::Result<()> {
    let mut server = tokio::net::TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let connection = {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push(Vec::new());
        heard.len() - 1
    };
    let keep = |said: Said<'_>| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exchanges) = heard.get_mut(connection) {
            said.add_to(exchanges);
        }
    };
    let (mut asked, mut answered) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let piece = asked.get(..read?).unwrap_or_default();
                keep(Said::Asked(piece));
                server.write_all(piece).await?;
                if piece.is_empty() {
                    return Ok(());
                }
            }
            read = server.read(&mut answered) => {
                let piece = answered.get(..read?).unwrap_or_default();
                keep(Said::Answered(piece));
                client.write_all(piece).await?;
                if piece.is_empty() {
                    return Ok(());
                }
            }
        }
    }
}

/// A piece of a conversation.
enum Said<'a> {
    Asked(&'a [u8]),
    Answered(&'a [u8]),
}

impl Said<'_> {
    /// A question after an answer begins another exchange.
    fn add_to(self, exchanges: &mut Vec<Exchange>) {
        match self {
            Self::Asked(piece) if !piece.is_empty() => match exchanges.last_mut() {
                Some(last) if last.reply.is_empty() => last.request.extend_from_slice(piece),
                _ => exchanges.push(Exchange {
                    request: piece.to_vec(),
                    reply: Vec::new(),
                }),
            },
            Self::Answered(piece) => {
                if let Some(last) = exchanges.last_mut() {
                    last.reply.extend_from_slice(piece);
                }
            }
            Self::Asked(_) => {}
        }
    }
}

/// How long the exchanges take over one fresh connection: to connect, and from the first byte of
/// the first request to the last byte of the last reply.
///
/// # Errors
/// The connection cannot be made, or breaks.
pub fn round_trips(exchanges: &[Exchange]) -> io::Result<Duration> {
    let clock = RealClock::starting_at(Duration::ZERO);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let start = clock.now();
    let ours = TcpStream::connect(address)?;
    let connecting = clock.now().saturating_sub(start);
    let (theirs, _) = listener.accept()?;
    let (ours, theirs) = (prepared(ours)?, prepared(theirs)?);
    let exchanging = thread::scope(|scope| {
        // The other thread is at work before the time runs.
        let (ready, is_ready) = mpsc::channel();
        let peer = scope.spawn(move || {
            let _ = ready.send(());
            exchanges
                .iter()
                .try_for_each(|Exchange { request, reply }| {
                    read(&theirs, request.len())?;
                    (&theirs).write_all(reply)
                })
        });
        let _ = is_ready.recv();
        let start = clock.now();
        // Taken into this closure, so that a failure here ends the other thread too.
        let ours = ours;
        exchanges
            .iter()
            .try_for_each(|Exchange { request, reply }| {
                (&ours).write_all(request)?;
                read(&ours, reply.len())
            })?;
        let exchanging = clock.now().saturating_sub(start);
        let broken = |_| io::Error::other("the other end broke off");
        peer.join().map_err(broken)??;
        Ok::<_, io::Error>(exchanging)
    })?;
    Ok(connecting + exchanging)
}

fn prepared(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn read(mut stream: &TcpStream, bytes: usize) -> io::Result<()> {
    let mut piece = [0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let most = left.min(PIECE);
        let read = stream.read(piece.get_mut(..most).unwrap_or_default())?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= read;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(request: &[u8], reply: &[u8]) -> Exchange {
        Exchange {
            request: request.to_vec(),
            reply: reply.to_vec(),
        }
    }

    #[test]
    fn a_question_after_an_answer_begins_another_exchange() {
        let mut exchanges = Vec::new();
        for said in [
            Said::Asked(b"GE"),
            Said::Asked(b"T"),
            Said::Answered(b"20"),
            Said::Answered(b"0"),
            Said::Asked(b"PUT"),
            Said::Answered(b"404"),
            Said::Asked(b""),
            Said::Answered(b""),
        ] {
            said.add_to(&mut exchanges);
        }
        assert_eq!(
            exchanges,
            [exchange(b"GET", b"200"), exchange(b"PUT", b"404")]
        );
    }

    #[test]
    fn every_byte_is_exchanged_even_where_a_reply_is_larger_than_a_buffer() {
        let exchanges = [
            exchange(&[1; 3], &vec![2; 4 << 20]),
            exchange(&vec![3; 4 << 20], b""),
            exchange(b"x", b"y"),
        ];
        assert!(round_trips(&exchanges).unwrap() > Duration::ZERO);
        assert!(round_trips(&[]).is_ok());
    }
}
