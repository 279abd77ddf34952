//! How many connections there are, and which of them may go.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The connections of a server, at most so many. Where there is no room for a new one, the one
/// that was idle longest is asked to go.
#[derive(Clone, Debug)]
pub(super) struct Connections {
    room: Arc<Semaphore>,
    crowd: Arc<Mutex<Crowd>>,
}

/// Those that are idle, the longest first, and those that wait for room.
#[derive(Debug, Default)]
struct Crowd {
    next: u64,
    /// How many wait for room.
    waiting: usize,
    /// How many were asked to leave and are not gone yet.
    leaving: usize,
    by_age: BTreeMap<u64, Arc<Leave>>,
}

/// One connection's being asked to leave.
#[derive(Debug, Default)]
struct Leave {
    asked: AtomicBool,
    word: Notify,
}

/// One connection's place; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _room: OwnedSemaphorePermit,
    crowd: Arc<Mutex<Crowd>>,
    /// Its number while it is idle.
    number: Mutex<Option<u64>>,
    leave: Arc<Leave>,
}

/// A connection is at work while this lives.
#[derive(Debug)]
pub(super) struct Busy {
    place: Arc<Place>,
}

/// Every place is taken by a connection at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Connections {
    pub(super) fn at_most(connections: usize) -> Self {
        Self {
            room: Arc::new(Semaphore::new(connections.max(1))),
            crowd: Arc::default(),
        }
    }

    /// A place for a connection, which waits so long for room.
    pub(super) async fn enter(&self, patience: Duration) -> Result<Arc<Place>, Full> {
        let room = Arc::clone(&self.room);
        let room = if let Ok(room) = room.try_acquire_owned() {
            room
        } else {
            let _waiting = Waiting::among(&self.crowd);
            let room = Arc::clone(&self.room).acquire_owned();
            let room = timeout(patience, room).await.map_err(|_| Full)?;
            room.map_err(|_| Full)?
        };
        let place = Arc::new(Place {
            _room: room,
            crowd: Arc::clone(&self.crowd),
            number: Mutex::default(),
            leave: Arc::default(),
        });
        place.rest();
        Ok(place)
    }

    /// Asks the connection that was idle longest to leave, unless one is about to: the system has
    /// no room for a new one.
    pub(super) fn ask_one_to_leave(&self) {
        drop(Waiting::among(&self.crowd));
    }
}

/// Somebody who waits for room; whoever was idle longest was asked to make it.
struct Waiting<'a>(&'a Mutex<Crowd>);

impl<'a> Waiting<'a> {
    fn among(crowd: &'a Mutex<Crowd>) -> Self {
        let mut some = lock(crowd);
        some.waiting += 1;
        some.make_room();
        Self(crowd)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(self.0).waiting -= 1;
    }
}

impl Crowd {
    /// Asks as many idle connections to leave as are waited for.
    fn make_room(&mut self) {
        while self.waiting > self.leaving
            && let Some((_, leave)) = self.by_age.pop_first()
        {
            self.leaving += 1;
            leave.asked.store(true, Ordering::Relaxed);
            leave.word.notify_one();
        }
    }
}

impl Place {
    /// Resolves when the connection, being idle, has to make room.
    pub(super) async fn asked_to_leave(&self) {
        self.leave.word.notified().await;
    }

    /// Whether it may be closed without cutting off a request.
    pub(super) fn is_idle(&self) -> bool {
        lock(&self.number).is_some()
    }

    fn rest(&self) {
        let mut crowd = lock(&self.crowd);
        let number = crowd.next;
        crowd.next += 1;
        *lock(&self.number) = Some(number);
        // Who was asked to leave already is not asked again.
        if !self.leave.asked.load(Ordering::Relaxed) {
            crowd.by_age.insert(number, Arc::clone(&self.leave));
            crowd.make_room();
        }
    }

    fn rise(&self) {
        let mut crowd = lock(&self.crowd);
        if let Some(number) = lock(&self.number).take() {
            crowd.by_age.remove(&number);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.rise();
        if self.leave.asked.load(Ordering::Relaxed) {
            lock(&self.crowd).leaving -= 1;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::from_secs(3_600);

    fn run<T>(work: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().unwrap().block_on(work)
    }

    #[test]
    fn whoever_is_idle_longest_is_asked_to_leave_and_nobody_else() {
        run(async {
            let connections = Connections::at_most(2);
            let first = connections.enter(NEVER).await.unwrap();
            let second = connections.enter(NEVER).await.unwrap();
            let leaves = async {
                first.asked_to_leave().await;
                drop(first);
            };
            let (third, ()) = tokio::join!(connections.enter(NEVER), leaves);
            assert!(third.is_ok());
            assert!(
                timeout(Duration::ZERO, second.asked_to_leave())
                    .await
                    .is_err()
            );
        });
    }

    #[test]
    fn one_is_asked_to_leave_for_the_system_and_the_next_when_it_is_gone() {
        run(async {
            let connections = Connections::at_most(3);
            let first = connections.enter(NEVER).await.unwrap();
            let second = connections.enter(NEVER).await.unwrap();
            let is_asked = |place: &Place| place.leave.asked.load(Ordering::Relaxed);
            connections.ask_one_to_leave();
            connections.ask_one_to_leave();
            assert!(is_asked(&first) && !is_asked(&second));
            first.asked_to_leave().await;
            drop(first);
            connections.ask_one_to_leave();
            assert!(is_asked(&second));
        });
    }

    #[test]
    fn where_everybody_is_at_work_there_is_no_room_until_somebody_is_done() {
        run(async {
            let connections = Connections::at_most(1);
            let place = connections.enter(NEVER).await.unwrap();
            let busy = Busy::new(Arc::clone(&place));
            assert_eq!(connections.enter(Duration::ZERO).await.err(), Some(Full));
            let leaves = async {
                drop(busy);
                place.asked_to_leave().await;
                drop(place);
            };
            let (next, ()) = tokio::join!(connections.enter(NEVER), leaves);
            assert!(next.is_ok());
            assert_eq!(lock(&connections.crowd).leaving, 0);
            assert_eq!(lock(&connections.crowd).waiting, 0);
        });
    }
}
