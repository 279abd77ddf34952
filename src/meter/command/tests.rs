use tokio::io::{AsyncBufReadExt, BufReader};

use super::*;
use crate::server::{Library, Script};

fn shell(script: &str) -> Launch {
    Launch {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: Vec::new(),
        folder: None,
        run: "test".to_owned(),
        model: "scripted/any-once".to_owned(),
        input: Input::Nothing,
        bounds: Bounds::default(),
        echo: None,
    }
}

fn config() -> Config {
    Config {
        library: Library::Only(Script::Any(crate::scenario::AnyScenario::Once)),
        ..Config::default()
    }
}

async fn ran(launch: &Launch) -> Ran {
    let metered = run(launch, config(), &Signal::new()).await.unwrap();
    assert_eq!(metered.exchanges, []);
    metered.ran
}

/// Whether the process is there and is more than an entry in a table.
fn is_alive(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Whether the process goes. One that was killed may be seen for a moment, on its way out.
async fn goes(id: &str) -> bool {
    let clock = RealClock::starting_at(Duration::ZERO);
    while is_alive(id) && clock.now() < Duration::from_secs(5) {
        let _ = clock.sleep(Duration::from_millis(10), &Signal::new()).await;
    }
    !is_alive(id)
}

#[tokio::test]
async fn a_command_ends_with_its_code_and_its_words_are_kept() {
    let ran = ran(&shell("echo told; echo complained >&2; exit 7")).await;
    assert_eq!(ran.end, CommandEnd::Exited(7));
    assert_eq!(ran.stdout.text(), "told\n");
    assert_eq!(ran.stderr.text(), "complained\n");
}

#[tokio::test]
async fn a_command_is_told_where_the_endpoint_is_and_what_we_say_wins() {
    let mut launch = shell("echo $OPENAI_BASE_URL $LLM_MODEL $OPENAI_API_KEY");
    launch.environment = vec![("OPENAI_API_KEY".to_owned(), "mine".to_owned())];
    let said = ran(&launch).await.stdout.text();
    assert!(said.starts_with("http://127.0.0.1:"), "{said}");
    assert!(
        said.ends_with("/runs/test/v1 scripted/any-once mine\n"),
        "{said}"
    );
}

#[tokio::test]
async fn a_command_that_is_not_there_is_said_to_be_missing() {
    let launch = Launch {
        program: "/no/such/agent".into(),
        ..shell("")
    };
    let error = run(&launch, config(), &Signal::new()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`/no/such/agent` cannot be started")
    );
}

#[tokio::test]
async fn death_by_a_signal_is_told() {
    let ran = ran(&shell("kill -9 $$")).await;
    assert_eq!(ran.end, CommandEnd::Signalled(Some(9)));
}

#[tokio::test]
async fn a_command_whose_time_is_up_is_ended() {
    let mut launch = shell("exec sleep 600");
    launch.bounds.time = Duration::from_millis(20);
    assert_eq!(ran(&launch).await.end, CommandEnd::TimedOut);
}

#[tokio::test]
async fn a_stop_ends_the_command_and_its_children_even_those_that_do_not_listen() {
    let stop = Signal::new();
    let mut launch = shell("trap '' TERM; sleep 600 & echo $!; wait");
    let (place, shown) = tokio::io::duplex(64);
    launch.echo = Some(Echo::to(place));
    let pressing = async {
        let mut heard = String::new();
        let read = BufReader::new(shown).read_line(&mut heard).await;
        stop.stop("enough");
        read.map(|_| heard)
    };
    let (metered, heard) = tokio::join!(run(&launch, config(), &stop), pressing);
    let end = metered.unwrap().ran.end;
    assert_eq!(end, CommandEnd::Stopped("enough".to_owned()));
    let child = heard.unwrap().trim().to_owned();
    assert_ne!(child, "");
    assert!(goes(&child).await, "{child}");
}

#[tokio::test]
async fn where_nobody_reads_what_is_shown_the_time_is_up_all_the_same_and_the_end_is_kept() {
    let mut launch = shell("exec yes");
    launch.bounds.time = Duration::from_millis(50);
    let (place, unread) = tokio::io::duplex(64);
    launch.echo = Some(Echo::to(place));
    let ran = ran(&launch).await;
    assert_eq!(ran.end, CommandEnd::TimedOut);
    assert!(ran.stdout.text().starts_with("y\ny\n"));
    drop(unread);
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_with_it() {
    let ran = ran(&shell("sleep 600 & echo $!; exit 0")).await;
    assert_eq!(ran.end, CommandEnd::Exited(0));
    assert!(goes(ran.stdout.text().trim()).await);
}

/// Starts a process that leaves the group, and goes on once that has said its id.
const LEAVER: &str = "fifo=$(mktemp -u) && mkfifo $fifo && export fifo; \
    setsid sh -c 'echo $$; echo > $fifo; exec >&- 2>&-; exec sleep 300' & read _ < $fifo; rm $fifo";

#[tokio::test]
async fn what_leaves_the_group_is_ended_with_the_command() {
    let id = ran(&shell(LEAVER)).await.stdout.text();
    assert!(!id.trim().is_empty());
    assert!(goes(id.trim()).await);
}

#[tokio::test]
async fn what_leaves_the_group_is_ended_when_the_commands_time_is_up() {
    let mut launch = shell(&format!("{LEAVER}; exec sleep 300"));
    launch.bounds.time = Duration::from_secs(2);
    let id = ran(&launch).await.stdout.text();
    assert!(!id.trim().is_empty());
    assert!(goes(id.trim()).await);
}
