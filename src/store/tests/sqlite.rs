//! What the database alone is asked.

use super::*;

#[test]
fn looking_for_runs_makes_no_database() {
    let bench = Database(tempfile::tempdir().unwrap());
    assert!(bench.store().find(Filter::default()).unwrap().is_empty());
    assert!(!bench.store().has("a").unwrap());
    assert!(!bench.path().exists());
}

#[test]
fn what_is_no_file_is_no_database() {
    let bench = Database(tempfile::tempdir().unwrap());
    std::fs::create_dir_all(bench.path()).unwrap();
    let error = bench.store().load("a").unwrap_err();
    assert!(error.to_string().contains("no plain file"), "{error}");
}

#[test]
fn a_database_of_another_program_or_of_a_later_version_is_refused_and_left_alone() {
    let bench = Database(tempfile::tempdir().unwrap());
    std::fs::create_dir_all(bench.path().parent().unwrap()).unwrap();
    let connection = rusqlite::Connection::open(bench.path()).unwrap();
    connection.execute_batch("CREATE TABLE t (a)").unwrap();
    let error = bench.store().load("a").unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");

    let bench = Database(tempfile::tempdir().unwrap());
    drop(saved(bench.store().as_ref(), "a"));
    let connection = rusqlite::Connection::open(bench.path()).unwrap();
    connection.execute_batch("PRAGMA user_version = 2").unwrap();
    assert!(matches!(
        bench.store().load("a"),
        Err(StoreError::NewerTables { found: 2, .. })
    ));
}

#[test]
fn a_row_that_is_no_text_is_damaged_and_hides_no_other() {
    let bench = Database(tempfile::tempdir().unwrap());
    for id in ["a", "b", "c"] {
        drop(saved(bench.store().as_ref(), id));
    }
    let connection = rusqlite::Connection::open(bench.path()).unwrap();
    let spoil = "UPDATE runs SET record = CAST(x'7bff7d' AS TEXT) WHERE id = 'a';
        UPDATE runs SET status = CAST(x'ff' AS TEXT) WHERE id = 'b';
        INSERT INTO runs SELECT CAST(x'ff' AS TEXT), status, reason, turns, cost_usd, record
        FROM runs WHERE id = 'c';";
    connection.execute_batch(spoil).unwrap();
    let damaged = |record: &Result<Record, StoreError>, id: &str| match record {
        Err(StoreError::Damaged { place, .. }) => place.ends_with(&format!("runs.db, run {id}")),
        _ => false,
    };
    let found = bench.store().find(Filter::default()).unwrap();
    assert_eq!(found.len(), 4);
    for found in found {
        let is_damaged = damaged(&found.record, &found.id);
        assert_eq!(is_damaged, found.id != "c", "{found:?}");
    }
    for id in ["a", "b"] {
        let loaded = bench.store().load(id);
        assert!(damaged(&loaded, id), "{loaded:?}");
    }
}

#[test]
fn a_database_of_no_version_that_can_be_is_refused_and_left_alone() {
    let bench = Database(tempfile::tempdir().unwrap());
    drop(saved(bench.store().as_ref(), "a"));
    let connection = rusqlite::Connection::open(bench.path()).unwrap();
    for version in [-1, i32::MIN] {
        let changed = format!("PRAGMA user_version = {version}");
        connection.execute_batch(&changed).unwrap();
        let error = bench.store().load("a").unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
    connection
        .execute_batch("PRAGMA user_version = 1; PRAGMA application_id = -1")
        .unwrap();
    let error = bench.store().load("a").unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
}

#[test]
fn a_run_that_cannot_be_stored_leaves_no_folder() {
    let bench = Database(tempfile::tempdir().unwrap());
    let folder = bench.path().parent().unwrap().to_owned();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(bench.path(), "no database").unwrap();
    for id in [None, Some("a")] {
        bench.store().claim(id).unwrap_err();
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn a_database_that_cannot_be_written_says_what_has_to_be_writable() {
    use rusqlite::ffi;
    let told = |code| {
        StoreError::Sqlite {
            path: PathBuf::from("runs.db"),
            source: rusqlite::Error::SqliteFailure(ffi::Error::new(code), None),
        }
        .to_string()
    };
    for code in [
        ffi::SQLITE_READONLY_DIRECTORY,
        ffi::SQLITE_READONLY,
        ffi::SQLITE_CANTOPEN,
    ] {
        let told = told(code);
        assert!(told.contains("its folder writable"), "{told}");
    }
    assert!(!told(ffi::SQLITE_BUSY).contains("writable"));
}

#[test]
fn a_file_that_is_no_database_is_told() {
    let bench = Database(tempfile::tempdir().unwrap());
    std::fs::create_dir_all(bench.path().parent().unwrap()).unwrap();
    std::fs::write(
        bench.path(),
        "no database, but a text of some length".repeat(9),
    )
    .unwrap();
    let error = bench.store().load("a").unwrap_err();
    assert!(error.to_string().contains("not a database"), "{error}");
}

#[cfg(unix)]
#[test]
fn what_is_saved_after_the_database_was_moved_removed_or_replaced_is_told_to_be_lost() {
    let bench = Database(tempfile::tempdir().unwrap());
    let store = bench.store();
    let hold = saved(store.as_ref(), "a");
    let away = bench.path().with_extension("away");
    let log = bench.path().with_extension("db-wal");
    let moved = |what: &str| {
        let result = store.save(&hold, &record("a"));
        assert!(
            matches!(result, Err(StoreError::Moved { .. })),
            "{what}: {result:?}"
        );
        let found = store.load("a").unwrap_err().to_string();
        assert!(!found.is_empty(), "{what}");
    };
    for file in [bench.path(), log] {
        std::fs::rename(&file, &away).unwrap();
        moved("moved");
        std::fs::write(&file, "").unwrap();
        moved("replaced");
        std::fs::rename(&away, &file).unwrap();
        store.save(&hold, &record("a")).unwrap();
    }
    std::fs::remove_file(bench.path()).unwrap();
    moved("removed");
}

#[test]
fn a_row_that_contradicts_its_record_is_damaged() {
    let bench = Database(tempfile::tempdir().unwrap());
    drop(saved(bench.store().as_ref(), "a"));
    let connection = rusqlite::Connection::open(bench.path()).unwrap();
    connection
        .execute_batch("UPDATE runs SET status = 'completed'")
        .unwrap();
    let error = bench.store().load("a").unwrap_err();
    assert!(error.to_string().contains("its row says"), "{error}");
}

#[test]
fn many_open_a_new_database_at_once() {
    let bench = Database(tempfile::tempdir().unwrap());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let bench = &bench;
            scope.spawn(move || drop(saved(bench.store().as_ref(), &format!("x{number}"))));
        }
    });
    assert_eq!(bench.store().find(Filter::default()).unwrap().len(), 8);
}

#[test]
fn a_store_tells_a_person_who_debugs_where_it_is() {
    let told = format!("{:?}", SqliteStore::new(Path::new("runs.db")));
    assert_eq!(told, "SqliteStore(\"runs.db\")");
}
