//! How many connections there are, and which of them may go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The connections of a server, at most so many. Where there is no room for a new one, the one
/// that was idle longest is asked to go.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    room: Arc<Semaphore>,
    idle: Arc<Mutex<Idle>>,
}

/// Idle connections, the longest first.
#[derive(Debug, Default)]
struct Idle {
    next: u64,
    /// Whether somebody waits for room.
    wanted: bool,
    by_age: BTreeMap<u64, Arc<Notify>>,
}

/// One connection's place; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _room: OwnedSemaphorePermit,
    idle: Arc<Mutex<Idle>>,
    /// Its number while it is idle.
    number: Mutex<Option<u64>>,
    leave: Arc<Notify>,
}

/// A connection is at work while this lives.
#[derive(Debug)]
pub(super) struct Busy {
    place: Arc<Place>,
}

impl Connections {
    pub(super) fn at_most(connections: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(connections.max(1))),
            idle: Arc::default(),
        }
    }

    /// A place for a connection, as soon as there is room.
    pub(super) async fn enter(&self) -> Option<Arc<Place>> {
        if self.room.available_permits() == 0 {
            self.make_room();
        }
        let room = Arc::clone(&self.room).acquire_owned().await.ok()?;
        lock(&self.idle).wanted = false;
        let place = Arc::new(Place {
            _room: room,
            idle: Arc::clone(&self.idle),
            number: Mutex::default(),
            leave: Arc::default(),
        });
        place.rest();
        Some(place)
    }

    fn make_room(&self) {
        let mut idle = lock(&self.idle);
        match idle.by_age.pop_first() {
            Some((_, leave)) => leave.notify_one(),
            None => idle.wanted = true,
        }
    }
}

impl Place {
    /// Resolves when the connection, being idle, has to make room.
    pub(super) async fn asked_to_leave(&self) {
        self.leave.notified().await;
    }

    /// Whether it may be closed without cutting off a request.
    pub(super) fn is_idle(&self) -> bool {
        lock(&self.number).is_some()
    }

    fn rest(&self) {
        let mut idle = lock(&self.idle);
        if std::mem::take(&mut idle.wanted) {
            self.leave.notify_one();
        }
        let number = idle.next;
        idle.next += 1;
        idle.by_age.insert(number, Arc::clone(&self.leave));
        *lock(&self.number) = Some(number);
    }

    fn rise(&self) {
        // The two locks are never held the other way round.
        let number = lock(&self.number).take();
        if let Some(number) = number {
            lock(&self.idle).by_age.remove(&number);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.rise();
    }
}

impl Busy {
    pub(super) fn new(place: Arc<Place>) -> Self {
        place.rise();
        Self { place }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.place.rest();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
