//! What is replied: the same as in process, in the form that clients expect.

use std::sync::Arc;

use loopmeter::event::Metering;
use loopmeter::message::{FinishReason, Message, Usage, to_json};
use loopmeter::provider::wire::{
    ChatRequest, Chunk, Completion, Delivery, ModelList, finish_reason,
};
use loopmeter::provider::{Reply, Request, Scripted};
use loopmeter::scenario::{AnyScenario, Said, Scenario, builtin_names};
use loopmeter::server::{Config, Oddity, Outcome};
use loopmeter::tokens;
use loopmeter::tools::definitions::chapter;
use loopmeter::world;
use serde_json::json;

use super::client::{Running, Sent, ask, start, with};

/// What a stream says, put together again, and the usage that it closes with.
fn assemble(chunks: &[Chunk]) -> Reply {
    let mut said = Said {
        content: None,
        tool_calls: Vec::new(),
    };
    let (mut finish, mut usage) = (None, None);
    for chunk in chunks {
        usage = usage.or(chunk.usage);
        let Some(choice) = chunk.choices.first() else {
            continue;
        };
        if let Some(text) = choice
            .delta
            .content
            .as_ref()
            .filter(|text| !text.is_empty())
        {
            said.content.get_or_insert_default().push_str(text);
        }
        for piece in &choice.delta.tool_calls {
            let index = usize::try_from(piece.index.unwrap()).unwrap();
            if index == said.tool_calls.len() {
                said.tool_calls.push(piece.clone().into());
            } else {
                let more = piece.function.arguments.as_deref().unwrap();
                said.tool_calls[index].arguments.push_str(more);
            }
        }
        finish = finish.or(choice.finish_reason.clone());
    }
    let usage = usage.unwrap().usage().unwrap();
    Reply {
        message: Some(said),
        finish: finish.as_deref().and_then(finish_reason),
        usage,
        metering: Metering::reported(counted(usage)),
    }
}

/// What we count of a usage, which is not what a provider's cache did.
fn counted(usage: Usage) -> Usage {
    Usage {
        cached_tokens: None,
        ..usage
    }
}

/// What a completion says.
fn whole(body: &str) -> Reply {
    let mut completion: Completion = serde_json::from_str(body).unwrap();
    let choice = completion.choices.remove(0);
    let usage = completion.usage.unwrap().usage().unwrap();
    Reply {
        message: Some(choice.message.into()),
        finish: choice.finish_reason.as_deref().and_then(finish_reason),
        usage,
        metering: Metering::reported(counted(usage)),
    }
}

/// Plays a scenario for some turns, in process and over HTTP in both ways.
async fn compare(server: &Running, name: &str) {
    let scripted = Scripted::new(Arc::new(Scenario::builtin(name).unwrap()));
    let tools = chapter();
    let (system, user) = (world::SYSTEM.to_owned(), world::USER.to_owned());
    let mut messages = vec![
        Message::System { content: system },
        Message::User { content: user },
    ];
    for _ in 0..4 {
        let request = Request {
            messages: &messages,
            tools: &tools,
            prompt_tokens: tokens::count_messages(&messages) + tokens::count_tools(&tools),
            max_completion_tokens: None,
        };
        let expected = scripted.reply(request);
        let model = &format!("scripted/{name}");
        let body = |delivery| {
            let request = ChatRequest {
                model,
                request,
                delivery,
            };
            request.body()
        };
        let plain = server.send(Sent::chat(&body(Delivery::Whole))).await;
        assert_eq!(whole(&plain.body), expected, "{name}");
        let streamed = body(Delivery::StreamedWithUsage);
        let (chunks, done) = server.send(Sent::chat(&streamed)).await.chunks();
        assert!(done, "{name}");
        assert_eq!(assemble(&chunks), expected, "{name}");
        let said = expected.message.unwrap();
        let results = said
            .tool_calls
            .clone()
            .into_iter()
            .map(|call| Message::Tool {
                tool_call_id: call.id,
                name: call.name,
                content: "a timeout. Call list_files".to_owned(),
            });
        messages.push(Message::Assistant {
            content: said.content,
            tool_calls: said.tool_calls,
        });
        messages.extend(results);
    }
}

#[tokio::test]
async fn every_scenario_replies_over_http_plain_and_streamed_as_it_does_in_process() {
    let server = start(Config::default()).await;
    for name in builtin_names() {
        compare(&server, name).await;
    }
    let odd = server.stop().await;
    let odd: Vec<_> = odd
        .iter()
        .flat_map(|exchange| &exchange.asked)
        .flat_map(|asked| &asked.oddities)
        // Tools that start a sub-agent are declared only where a run has one.
        .filter(|odd| {
            let starts_one = |name: &str| ["research", "survey"].contains(&name);
            !matches!(odd, Oddity::UndeclaredTool { name } if starts_one(name))
        })
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
}

#[tokio::test]
async fn a_stream_begins_with_the_role_and_ends_with_the_usage_if_it_was_asked_for() {
    let server = start(Config::default()).await;
    let streamed = with(ask("scripted/parallel"), "stream", json!(true));
    let got = server.chat(&streamed).await;
    assert!(got.headers["content-type"].starts_with("text/event-stream"));
    let (chunks, done) = got.chunks();
    assert!(done);
    assert_eq!(
        chunks[0].choices[0].delta.role.as_deref(),
        Some("assistant")
    );
    assert!(!chunks[0].choices[0].delta.says_something());
    assert!(chunks.iter().all(|chunk| chunk.usage.is_none()));
    let indexes: Vec<_> = chunks
        .iter()
        .flat_map(|chunk| &chunk.choices[0].delta.tool_calls)
        .filter(|call| call.id.is_some())
        .map(|call| call.index)
        .collect();
    assert_eq!(indexes, [Some(0), Some(1)]);

    let options = json!({"include_usage": true});
    let with_usage = with(streamed, "stream_options", options);
    let (chunks, done) = server.chat(&with_usage).await.chunks();
    assert!(done);
    let last = chunks.last().unwrap();
    assert!(last.choices.is_empty());
    assert!(last.usage.unwrap().usage().is_some());
}

#[tokio::test]
async fn a_stream_of_calls_alone_has_no_prose_as_the_plain_reply_has_none() {
    let server = start(Config::default()).await;
    let streamed = with(ask("scripted/plan"), "stream", json!(true));
    let (chunks, _) = server.chat(&streamed).await.chunks();
    let mut deltas = chunks.iter().flat_map(|chunk| &chunk.choices);
    assert!(deltas.all(|choice| choice.delta.content.is_none()));
}

#[tokio::test]
async fn an_answer_goes_through_the_tool_by_which_the_request_wants_it() {
    let server = start(Config::default()).await;
    let plain = with(
        json!({"model": "scripted/plan", "messages": [
            {"role": "user", "content": "Which file?"},
            {"role": "assistant", "content": "I look."},
            {"role": "assistant", "content": "I read."},
        ]}),
        "tools",
        json!([{"type": "function", "function": {"name": "final_answer", "parameters": {
            "type": "object", "properties": {"answer": {"type": "any"}}}}}]),
    );
    let got = server.chat(&plain).await;
    let reply: serde_json::Value = serde_json::from_str(&got.body).unwrap();
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "final_answer");
    let arguments = call["function"]["arguments"].as_str().unwrap();
    assert_eq!(
        arguments,
        r#"{"answer":"errors.log mentions a timeout: worker 7 timed out after 30000 ms."}"#
    );
}

/// What a scenario calls at its first turn when it is asked with these parameters more.
async fn called(scenario: &str, more: &serde_json::Value) -> Vec<String> {
    let server = start(Config::default()).await;
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let mut body = with(
        ask(&format!("scripted/{scenario}")),
        "tools",
        json!([tool("f"), tool("g")]),
    );
    for (key, value) in more.as_object().unwrap() {
        body = with(body, key, value.clone());
    }
    let reply = server.completion(&body).await;
    let calls = reply.choices[0].message.tool_calls.iter();
    calls
        .filter_map(|call| call.function.name.clone())
        .collect()
}

#[tokio::test]
async fn a_scenario_for_any_tools_keeps_to_the_choice_that_the_request_leaves_it() {
    let named = json!({"tool_choice": {"type": "function", "function": {"name": "g"}}});
    assert_eq!(called("any-once", &json!({})).await, ["f"]);
    assert_eq!(called("any-once", &named).await, ["g"]);
    assert!(
        called("any-runaway", &json!({"tool_choice": "none"}))
            .await
            .is_empty()
    );
    assert_eq!(called("any-parallel", &json!({})).await, ["f", "g"]);
    let one = json!({"parallel_tool_calls": false});
    assert_eq!(called("any-parallel", &one).await, ["f"]);
    assert_eq!(
        called("plan", &json!({"tool_choice": "none"})).await,
        ["list_files"]
    );
}

#[tokio::test]
async fn pictures_are_told_to_be_counted_as_text() {
    let server = start(Config::default()).await;
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}});
    server
        .chat(&json!({"model": "scripted/plan", "messages": [
            {"role": "user", "content": [{"type": "text", "text": "?"}, picture.clone(), picture]},
        ]}))
        .await;
    let seen = server.stop().await;
    let odd = &seen[0].asked.as_ref().unwrap().oddities;
    let kinds = vec!["image_url".to_owned()];
    assert!(
        odd.contains(&Oddity::MediaCountedAsText { kinds }),
        "{odd:?}"
    );
}

#[tokio::test]
async fn a_result_in_the_users_name_decides_what_the_model_does_next() {
    let server = start(Config::default()).await;
    let hint = "Error: no such file. Call list_files to see what exists.";
    for (told, called) in [(hint, true), ("Error", false)] {
        let body = json!({"model": "scripted/recover", "messages": [
            {"role": "user", "content": "Which file?"},
            {"role": "assistant", "content": "I read timeout.log."},
            {"role": "user", "content": told},
        ]});
        let got = server.chat(&body).await;
        let reply: serde_json::Value = serde_json::from_str(&got.body).unwrap();
        let calls = &reply["choices"][0]["message"]["tool_calls"];
        assert_eq!(calls.is_array(), called, "{told}: {reply}");
    }
}

#[tokio::test]
async fn a_foreign_request_is_counted_with_its_own_keys_in_its_own_order() {
    let server = start(Config::default()).await;
    let messages = json!([
        {"content": [{"type": "text", "text": "Why?"}], "role": "user", "name": "ann"},
        {"1": "a key that no count may be cut at", "role": "user", "content": "x"},
    ]);
    let tools = json!([{"function": {"parameters": {}, "name": "f"}, "type": "function"}]);
    let body = json!({"tools": tools, "messages": messages, "model": "scripted/plan"});
    let completion = server.completion(&body).await;
    let counted = tokens::count(&to_json(&messages)) + tokens::count(&to_json(&tools));
    assert_eq!(completion.usage.unwrap().prompt_tokens, Some(counted));
    let seen = server.stop().await;
    let asked = seen[0].asked.as_ref().unwrap();
    assert_eq!(asked.tools_tokens, tokens::count(&to_json(&tools)));
    assert_eq!(asked.prompt_tokens(), counted);
    assert_eq!((asked.messages, asked.tools), (2, Some(1)));
}

#[tokio::test]
async fn the_same_request_gets_the_same_bytes_and_a_cap_is_kept() {
    let server = start(Config::default()).await;
    let body = ask("scripted/plan");
    let (first, second) = (server.chat(&body).await, server.chat(&body).await);
    assert_eq!(first.body, second.body);
    let capped = server.completion(&with(body, "max_tokens", json!(9))).await;
    assert_eq!(capped.choices[0].finish_reason.as_deref(), Some("length"));
    assert!(capped.usage.unwrap().completion_tokens.unwrap() <= 9);
    let seen = server.stop().await;
    let finishes: Vec<_> = seen
        .iter()
        .map(|exchange| match &exchange.outcome {
            Outcome::Replied { finish, .. } => *finish,
            other => panic!("{other:?}"),
        })
        .collect();
    let (calls, length) = (FinishReason::ToolCalls, FinishReason::Length);
    assert_eq!(finishes, [calls, calls, length]);
    let attempts: Vec<_> = seen
        .iter()
        .map(|exchange| exchange.asked.as_ref().unwrap().attempt)
        .collect();
    assert_eq!(attempts, [1, 2, 1]);
}

#[tokio::test]
async fn models_and_health_are_served_on_every_path() {
    let server = start(Config::default()).await;
    for prefix in ["", "/runs/r1"] {
        let got = server.send(Sent::get(&format!("{prefix}/v1/models"))).await;
        let list: ModelList = serde_json::from_str(&got.body).unwrap();
        let names: Vec<_> = list.data.iter().map(|model| model.id.as_str()).collect();
        assert!(names.contains(&"scripted/plan") && names.contains(&"scripted/any-once"));
        assert_eq!(names.len(), builtin_names().len() + AnyScenario::ALL.len());
        let health = server.send(Sent::get(&format!("{prefix}/health"))).await;
        assert_eq!(health.body, r#"{"status":"ok"}"#);
    }
    let one = server.send(Sent::get("/v1/models/scripted/plan")).await;
    assert_eq!(one.status, Some(200));
    let none = server.send(Sent::get("/v1/models/gpt")).await;
    assert_eq!(
        (none.status, none.error().code.as_deref()),
        (Some(404), Some("model_not_found"))
    );
}

#[tokio::test]
async fn any_scenarios_use_the_tools_of_the_request() {
    let server = start(Config::default()).await;
    let parameters =
        json!({"type": "object", "properties": {"q": {"enum": ["x"]}}, "required": ["q"]});
    let tool =
        json!({"type": "function", "function": {"name": "look_up", "parameters": parameters}});
    let body = with(ask("scripted/any-once"), "tools", json!([tool]));
    let completion = server.completion(&body).await;
    let said = Said::from(completion.choices[0].message.clone());
    assert_eq!(said.tool_calls[0].name, "look_up");
    assert_eq!(said.tool_calls[0].arguments, r#"{"q":"x"}"#);
    let bare = server.completion(&ask("scripted/any-runaway")).await;
    assert_eq!(bare.choices[0].finish_reason.as_deref(), Some("stop"));
    let seen = server.stop().await;
    let odd: Vec<_> = seen
        .iter()
        .map(|exchange| exchange.asked.as_ref().unwrap().oddities.clone())
        .collect();
    assert_eq!(odd, [vec![], vec![Oddity::NoTools]]);
}
