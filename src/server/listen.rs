//! Taking connections, and letting them go.

use std::io;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::chat::Shared;
use super::config::Config;
use super::connections::{Busy, Connections, Full, Place};
use super::host::Hosts;
use super::log::Log;
use super::socket::{Ending, Socket};
use super::turned_away::Doorkeeper;
use crate::clock::{Clock, Signal};

/// The scripted model, ready to be asked over HTTP.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
}

/// How long is waited after the system could not give a connection, for example because there
/// are too many open files.
const AFTER_REFUSAL: std::time::Duration = std::time::Duration::from_millis(20);

/// How many connections wait for a place at once; those that come after them are not accepted yet.
const MOST_WAITING: usize = 64;

/// How long an idle connection has to make room, so that its last reply can leave.
const TO_LEAVE: std::time::Duration = std::time::Duration::from_millis(100);

impl Server {
    /// A server that behaves as `config` says. Its clock starts now.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let log = Log::of_at_most(config.limits.exchanges);
        Self {
            shared: Arc::new(Shared::new(config, log)),
        }
    }

    /// What it has seen and will see.
    #[must_use]
    pub fn log(&self) -> Log {
        self.shared.log.clone()
    }

    /// Serves the connections of `listener` until `shutdown` resolves; then lets the requests in
    /// progress end, for as long as the limits allow. Needs a tokio runtime with I/O and time.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let limits = self.shared.config.limits;
        // The tokenizer is made ready now, so that no client waits for it.
        let _ = crate::tokens::count("");
        let door = Door {
            shared: Arc::clone(&self.shared),
            connections: Connections::at_most(limits.connections),
            hosts: Hosts::of(listener.local_addr().ok(), self.shared.config.key.as_ref()),
            keeper: Doorkeeper::default(),
        };
        let lobby = Arc::new(Semaphore::new(MOST_WAITING));
        let (closing, closed) = watch::channel(());
        let mut tasks = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                accepted = accept(&listener, &lobby) => match accepted {
                    Ok((stream, waiting)) => {
                        tasks.spawn(door.clone().admit(stream, waiting, closed.clone()));
                    }
                    Err(error) => {
                        if is_want(&error) {
                            door.connections.ask_one_to_leave();
                        }
                        self.rest().await;
                    }
                },
            }
            while tasks.try_join_next().is_some() {}
        }
        drop(listener);
        drop(closing);
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout(limits.grace_time, all).await;
        // Whoever is not done by then is cut off; its exchange is in the log when this returns.
        tasks.shutdown().await;
    }

    async fn rest(&self) {
        let _ = self.shared.clock.sleep(AFTER_REFUSAL, &Signal::new()).await;
    }
}

/// Whether the system had no connection to give, for want of files or memory; else the one that
/// came is gone again, which is nobody's fault.
fn is_want(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    !matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted
    )
}

/// A connection, as soon as there is room among those that wait for a place.
async fn accept(
    listener: &TcpListener,
    lobby: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let closed = |_| io::Error::from(io::ErrorKind::NotConnected);
    let waiting = Arc::clone(lobby).acquire_owned().await.map_err(closed)?;
    let (stream, _) = listener.accept().await?;
    // Small pieces of a stream are sent as they come; where that cannot be had, it is slower.
    let _ = stream.set_nodelay(true);
    Ok((stream, waiting))
}

/// Lets connections in, or turns them away.
#[derive(Clone)]
struct Door {
    shared: Arc<Shared>,
    connections: Connections,
    hosts: Hosts,
    keeper: Doorkeeper,
}

impl Door {
    async fn admit(
        self,
        stream: TcpStream,
        waiting: OwnedSemaphorePermit,
        closed: watch::Receiver<()>,
    ) {
        let patience = self.shared.config.limits.room_time;
        let entered = self.connections.enter(patience).await;
        drop(waiting);
        match entered {
            Ok(place) => {
                let connection = Connection {
                    shared: self.shared,
                    place,
                    hosts: self.hosts,
                    closed,
                };
                connection.serve(stream).await;
            }
            Err(Full) => self.keeper.turn_away(stream, &self.shared).await,
        }
    }
}

/// A connection that was accepted.
struct Connection {
    shared: Arc<Shared>,
    place: Arc<Place>,
    hosts: Hosts,
    closed: watch::Receiver<()>,
}

impl Connection {
    async fn serve(mut self, stream: TcpStream) {
        let (limits, hosts) = (self.shared.config.limits, self.hosts);
        let ending = Arc::new(Ending::default());
        let socket = Socket::new(stream, Arc::clone(&ending), limits.write_time);
        let service = service_fn(|request| {
            let shared = Arc::clone(&self.shared);
            let ending = Arc::clone(&ending);
            let busy = Busy::new(Arc::clone(&self.place));
            async move { shared.answer(request, hosts, &ending, busy).await }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_time)
            .max_buf_size(limits.head_bytes.max(8 << 10))
            .serve_connection(TokioIo::new(socket), service);
        let mut connection = std::pin::pin!(connection);
        let mut is_closing = false;
        loop {
            tokio::select! {
                // What goes wrong with a connection is the client's affair, or was told to it.
                _ = connection.as_mut() => return,
                () = self.place.asked_to_leave() => {
                    connection.as_mut().graceful_shutdown();
                    if self.place.is_idle() {
                        let _ = timeout(TO_LEAVE, connection.as_mut()).await;
                        return;
                    }
                }
                _ = self.closed.changed(), if !is_closing => {
                    is_closing = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}
