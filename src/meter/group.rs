//! A command and all that it starts, as one thing that can be ended.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::strays;
use crate::clock::{Clock, RealClock, Signal};

/// How long a command has to end when it is asked to, before it is made to.
const TO_END: Duration = Duration::from_secs(2);
/// How often it is looked whether what a command left behind has ended.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// How long that may take.
const TO_CLEAR: Duration = Duration::from_millis(500);

/// A running command in a process group of its own. Dropped, the whole group is killed.
#[derive(Debug)]
pub(super) struct Group {
    child: Child,
    members: Members,
}

impl Group {
    /// Starts a command at the head of a new group.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        command.process_group(0);
        let mark = strays::mark();
        command.env(strays::VARIABLE, strays::value(&mark));
        let child = command.kill_on_drop(true).spawn()?;
        let members = Members::led_by(&child, mark);
        Ok(Self { child, members })
    }

    pub(super) const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the command to end of itself.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends the command, and all that it started.
    pub(super) async fn end(&mut self) {
        self.members.tell(Kindly::Ask);
        // Whether it went or not, nothing of it is left after what follows.
        let _ = timeout(TO_END, self.child.wait()).await;
        self.members.tell(Kindly::Force);
        let _ = self.child.start_kill();
        let _ = self.child.wait().await;
        self.members.forget();
    }

    /// Ends what a command left behind that has ended itself.
    pub(super) async fn clear(&mut self, clock: &RealClock) {
        self.members.tell(Kindly::Ask);
        let until = clock.now() + TO_CLEAR;
        while self.members.are_there() && clock.now() < until {
            // A private signal that nobody presses: the wait always runs its course.
            let _ = clock.sleep(BETWEEN_LOOKS, &Signal::new()).await;
        }
        self.members.tell(Kindly::Force);
        self.members.forget();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.members.tell(Kindly::Force);
    }
}

/// How processes are told to end.
#[derive(Clone, Copy, Debug)]
enum Kindly {
    /// They may tidy up first.
    Ask,
    /// At once.
    Force,
}

/// The processes of a group, and those that left it; none where the system has no groups, or once
/// they are forgotten.
#[derive(Debug)]
struct Members {
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
    #[cfg(unix)]
    mark: String,
}

#[cfg(unix)]
impl Members {
    fn led_by(child: &Child, mark: String) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            group: id.and_then(rustix::process::Pid::from_raw),
            mark,
        }
    }

    /// Those who are gone already cannot be told, and need not be.
    fn tell(&self, kindly: Kindly) {
        use rustix::process::{Pid, Signal, kill_process, kill_process_group};
        let signal = match kindly {
            Kindly::Ask => Signal::TERM,
            Kindly::Force => Signal::KILL,
        };
        let Some(group) = self.group else { return };
        let _ = kill_process_group(group, signal);
        for stray in strays::marked(&self.mark)
            .into_iter()
            .filter_map(Pid::from_raw)
        {
            let _ = kill_process(stray, signal);
        }
    }

    fn are_there(&self) -> bool {
        let there = |group| rustix::process::test_kill_process_group(group).is_ok();
        self.group.is_some_and(there) || !strays::marked(&self.mark).is_empty()
    }

    /// The number of a group that is gone may be given to another.
    fn forget(&mut self) {
        self.group = None;
    }
}

#[cfg(not(unix))]
impl Members {
    fn led_by(_child: &Child, _mark: String) -> Self {
        Self {}
    }

    const fn tell(&self, _kindly: Kindly) {}

    const fn are_there(&self) -> bool {
        false
    }

    const fn forget(&mut self) {}
}
