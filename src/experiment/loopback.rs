//! The scripted models of an experiment, served on a port of this machine while its cells run.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::runtime;
use tokio::sync::oneshot;

use super::resources::Resources;
use crate::server::{Config, Library, Script, Server};

/// A server on a thread of its own; it stops when this is dropped.
#[derive(Debug)]
pub(super) struct Loopback {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Serves every scenario that the experiment's file names, by the name that it has there.
    ///
    /// # Errors
    /// The system gives no port or no thread.
    pub(super) fn serve(resources: &Resources) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let server = Server::new(Config {
            library: Library::ByModel(scripts(resources)),
            ..Config::default()
        });
        let (stop, stopped) = oneshot::channel();
        let serving = thread::Builder::new().name("loopback".to_owned());
        let thread = serving.spawn(move || {
            runtime.block_on(async {
                // Without a port there is nobody to tell; the first cell cannot connect and says so.
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    let stopped = async { stopped.await.unwrap_or_default() };
                    server.serve(listener, stopped).await;
                }
            });
        })?;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn scripts(resources: &Resources) -> BTreeMap<String, Script> {
    let own = resources.scenarios.iter();
    let children = resources.children.iter();
    let children = children.map(|child| (&child.file.scenario, &child.scenario));
    own.chain(children)
        .map(|(name, scenario)| (name.clone(), Script::Written(Arc::clone(scenario))))
        .collect()
}
