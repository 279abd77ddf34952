//! Which turn a request is for, and what is odd about requests of frameworks that rewrite.

use std::sync::Arc;

use loopmeter::server::{Asked, Channel, Config, Exchange, Oddity, TurnIndex};
use serde_json::{Value, json};

use super::client::{Running, Sent, start};

const USER: &str = r#"{"role":"user","content":"Which file?"}"#;
const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"list_files","arguments":"{}"}}]}"#;
const RESULT: &str = r#"{"role":"tool","tool_call_id":"c1","content":"[]"}"#;

/// The reply to these messages in the run `r`: the id of its first call, or its prose.
async fn say(server: &Running, messages: &[&str]) -> String {
    let body = format!(
        r#"{{"model":"scripted/plan","messages":[{}]}}"#,
        messages.join(",")
    );
    let got = server
        .send(Sent {
            path: "/runs/r/v1/chat/completions",
            ..Sent::chat(&body)
        })
        .await;
    let reply: Value = serde_json::from_str(&got.body).unwrap();
    let message = &reply["choices"][0]["message"];
    let id = message["tool_calls"][0]["id"].as_str();
    id.or(message["content"].as_str()).unwrap().to_owned()
}

async fn serve_by(turn_index: TurnIndex) -> Running {
    start(Config {
        turn_index,
        ..Config::default()
    })
    .await
}

fn last(seen: &[Arc<Exchange>]) -> &Asked {
    seen.last().unwrap().asked.as_ref().unwrap()
}

/// What is odd about a request, without the tools that these tests do not declare.
fn oddities(asked: &Asked) -> Vec<Oddity> {
    let odd = asked.oddities.iter();
    odd.filter(|odd| !matches!(odd, Oddity::UndeclaredTool { .. }))
        .cloned()
        .collect()
}

#[tokio::test]
async fn all_derivations_agree_about_a_client_that_keeps_to_the_protocol() {
    for index in [TurnIndex::Conversation, TurnIndex::Ids, TurnIndex::Path] {
        let server = serve_by(index).await;
        assert_eq!(say(&server, &[USER]).await, "c1");
        assert_eq!(say(&server, &[USER, CALL, RESULT]).await, "c2");
        let seen = server.stop().await;
        let asked = last(&seen);
        assert_eq!(oddities(asked), [], "{index:?}");
        assert_eq!((asked.turn, asked.messages_kept), (1, 1));
        assert_eq!((asked.turns.ids, asked.turns.path), (Some(1), Some(1)));
        let result = &asked.results[0];
        assert_eq!(
            (result.channel, result.text.as_str()),
            (Channel::Tool, "[]")
        );
        assert_eq!(result.call_id.as_deref(), Some("c1"));
    }
}

#[tokio::test]
async fn results_as_user_text_are_noticed_and_the_path_still_counts() {
    let server = serve_by(TurnIndex::Path).await;
    let told = r#"{"role":"user","content":"Observation: []"}"#;
    let call = r#"{"role":"assistant","content":"Calling list_files"}"#;
    assert_eq!(say(&server, &[USER]).await, "c1");
    assert_eq!(say(&server, &[USER, call, told]).await, "c2");
    let seen = server.stop().await;
    let asked = last(&seen);
    assert_eq!(asked.results[0].channel, Channel::User);
    assert_eq!(asked.results[0].text, "Observation: []");
    let ids = vec!["c1".to_owned()];
    let expected = [
        Oddity::TurnsDisagree(asked.turns),
        Oddity::ResultsAsUserText { ids },
    ];
    assert_eq!(oddities(asked), expected);
    assert_eq!((asked.turns.conversation, asked.turns.ids), (1, Some(0)));
}

#[tokio::test]
async fn a_failure_that_is_added_to_the_first_words_is_seen_as_text_of_the_user() {
    let server = serve_by(TurnIndex::Path).await;
    let more = USER.replace("Which file?", "Which file?\\nError: no such tool");
    assert_eq!(say(&server, &[USER]).await, "c1");
    assert_eq!(say(&server, &[&more]).await, "c2");
    let seen = server.stop().await;
    let asked = last(&seen);
    let result = &asked.results[0];
    assert_eq!(
        (result.channel, result.text.as_str()),
        (Channel::User, "Error: no such tool")
    );
    let dropped = Oddity::AssistantTurnDropped { turn: 0 };
    assert!(oddities(asked).contains(&dropped), "{asked:?}");
}

#[tokio::test]
async fn a_dropped_reply_is_noticed_and_call_ids_still_tell_the_turn() {
    let server = serve_by(TurnIndex::Ids).await;
    assert_eq!(say(&server, &[USER]).await, "c1");
    assert_eq!(say(&server, &[USER, RESULT]).await, "c2");
    let seen = server.stop().await;
    let asked = last(&seen);
    let id = "c1".to_owned();
    let expected = [
        Oddity::TurnsDisagree(asked.turns),
        Oddity::ResultOfUnknownCall { id },
        Oddity::AssistantTurnDropped { turn: 0 },
    ];
    assert_eq!(oddities(asked), expected);
    assert_eq!(asked.turn, 1);
}

#[tokio::test]
async fn by_the_conversation_a_dropped_reply_plays_the_turn_again() {
    let server = serve_by(TurnIndex::Conversation).await;
    assert_eq!(say(&server, &[USER]).await, "c1");
    assert_eq!(say(&server, &[USER, USER]).await, "c1");
    let seen = server.stop().await;
    let odd = oddities(last(&seen));
    assert!(
        odd.contains(&Oddity::AssistantTurnDropped { turn: 0 }),
        "{odd:?}"
    );
}

#[tokio::test]
async fn what_is_wrong_with_results_is_told_one_by_one() {
    let server = serve_by(TurnIndex::Conversation).await;
    let both = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let nameless = r#"{"role":"tool","content":"x"}"#;
    say(&server, &[USER, both, nameless]).await;
    let seen = server.stop().await;
    let expected = [
        Oddity::TurnsDisagree(last(&seen).turns),
        Oddity::CallWithoutResult { id: "a".to_owned() },
        Oddity::CallWithoutResult { id: "b".to_owned() },
        Oddity::ResultWithoutId { message: 2 },
    ];
    assert_eq!(oddities(last(&seen)), expected);
}

#[tokio::test]
async fn parallel_results_in_another_order_and_rewritten_history_are_noticed() {
    let server = serve_by(TurnIndex::Conversation).await;
    let ask = |messages: Value| json!({"model": "scripted/parallel", "messages": messages, "unheard_of": 1});
    let user = json!({"role": "user", "content": "Which file?"});
    let first = server.completion(&ask(json!([user]))).await;
    let said = serde_json::to_value(&first.choices[0].message).unwrap();
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    server
        .completion(&ask(json!([user, said, result("c2"), result("c1")])))
        .await;
    let shorter = json!({"role": "tool", "tool_call_id": "c2", "content": "(left out)"});
    let more = json!({"role": "user", "content": "Sure?"});
    server
        .completion(&ask(json!([user, said, shorter, result("c1"), more])))
        .await;
    let seen = server.stop().await;
    let odd = |at: usize| oddities(seen[at].asked.as_ref().unwrap());
    let names = vec!["unheard_of".to_owned()];
    assert_eq!(
        odd(0),
        [Oddity::UnknownParameters {
            names: names.clone()
        }]
    );
    let ids = vec!["c2".to_owned(), "c1".to_owned()];
    assert_eq!(
        odd(1),
        [
            Oddity::ResultsOutOfOrder { ids },
            Oddity::UnknownParameters { names }
        ]
    );
    assert!(odd(2).contains(&Oddity::HistoryRewritten { message: 2 }));
    assert_eq!(seen[2].asked.as_ref().unwrap().messages_kept, 2);
}
