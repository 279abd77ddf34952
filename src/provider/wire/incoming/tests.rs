use super::*;

fn refused(body: &str) -> (String, Option<String>, &'static str) {
    let error = Incoming::parse(body.as_bytes()).unwrap_err();
    let param = error.param().map(str::to_owned);
    (error.to_string(), param, error.code())
}

fn with(parameter: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],{parameter}}}"#)
}

#[test]
fn parameters_are_listed_in_order_so_that_each_is_found() {
    assert!(PARAMETERS.is_sorted_by(|a, b| a.0 < b.0));
}

/// A body, the parameter that is to blame, and the error's code.
#[rustfmt::skip]
const REFUSED: &[(&str, Option<&str>, &str)] = &[
    ("", None, "invalid_json"),
    (r#"{"model":"m",}"#, None, "invalid_json"),
    ("\u{feff}{}", None, "invalid_json"),
    ("[]", None, "invalid_type"),
    ("{}", Some("model"), "missing_required_parameter"),
    (r#"{"model":7}"#, Some("model"), "invalid_type"),
    (r#"{"model":"m"}"#, Some("messages"), "missing_required_parameter"),
    (r#"{"model":"m","messages":{}}"#, Some("messages"), "invalid_type"),
    (r#"{"model":"m","messages":[]}"#, Some("messages"), "invalid_value"),
    (r#"{"model":"m","messages":[1]}"#, Some("messages[0]"), "invalid_type"),
    (r#"{"model":"m","messages":[{}]}"#, Some("messages[0].role"), "missing_required_parameter"),
    (r#"{"model":"m","messages":[{"role":"boss"}]}"#, Some("messages[0].role"), "invalid_value"),
    (r#"{"model":"m","messages":[{"role":"user","content":1}]}"#, Some("messages[0].content"), "invalid_type"),
];

/// A parameter beside a good model and good messages, and the same.
#[rustfmt::skip]
const REFUSED_BESIDE: &[(&str, &str, &str)] = &[
    (r#""tools":[1]"#, "tools[0]", "invalid_type"),
    (r#""temperature":"hot""#, "temperature", "invalid_type"),
    (r#""max_tokens":0"#, "max_tokens", "invalid_value"),
    (r#""max_completion_tokens":1.5"#, "max_completion_tokens", "invalid_type"),
    (r#""n":2"#, "n", "invalid_value"),
    (r#""stream_options":{}"#, "stream_options", "invalid_value"),
    (r#""stream":true,"stream_options":{"include_usage":1}"#, "stream_options.include_usage", "invalid_type"),
];

#[test]
fn a_wrong_request_is_refused_with_the_parameter_that_is_to_blame() {
    let check = |body: &str, param: Option<&str>, code| {
        let (message, at, word) = refused(body);
        assert_eq!((at.as_deref(), word), (param, code), "{body}: {message}");
    };
    for (body, param, code) in REFUSED {
        check(body, *param, code);
    }
    for (parameter, param, code) in REFUSED_BESIDE {
        check(&with(parameter), Some(param), code);
    }
}

#[test]
fn a_body_nested_without_end_is_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(refused(&deep).2, "invalid_json");
}

#[test]
fn a_body_of_tiny_values_is_refused_and_one_of_text_is_not() {
    let many = format!("[{}0]", "0,".repeat(MOST_VALUES));
    assert_eq!(
        Incoming::parse(many.as_bytes()),
        Err(RequestError::TooManyValues)
    );
    let text = ",[\\\"".repeat(MOST_VALUES);
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    assert!(Incoming::parse(body.as_bytes()).is_ok());
}

#[test]
fn unknown_parameters_are_accepted_and_listed() {
    let body = with(r#""zeta":1,"user":"u","alpha":null,"tools":null,"stream":null"#);
    let incoming = Incoming::parse(body.as_bytes()).unwrap();
    assert_eq!(incoming.unknown, ["zeta", "alpha"]);
    assert_eq!(incoming.tools, None);
    assert_eq!(incoming.delivery, Delivery::Whole);
}

#[test]
fn what_is_counted_keeps_the_keys_in_the_order_received() {
    let body = r#"{ "messages" : [ {"content" : "hi", "role" : "user", "a" : 1.0} ],
        "tools" : [ {"z" : 1, "a" : {"function": {}}} ], "model" : "m"}"#;
    let incoming = Incoming::parse(body.as_bytes()).unwrap();
    let texts: Vec<_> = incoming.message_texts().collect();
    assert_eq!(texts, [r#"{"content":"hi","role":"user","a":1}"#]);
    let tools = incoming.tools_text();
    assert_eq!(tools.as_deref(), Some(r#"[{"z":1,"a":{"function":{}}}]"#));
}

#[test]
fn messages_are_read_by_their_meaning() {
    let body = r#"{"model":"m","messages":[
        {"role":"developer","content":"be brief"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},7]},
        {"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"o"},{"type":"text","text":"k"}]}]}"#;
    let incoming = Incoming::parse(body.as_bytes()).unwrap();
    let received: Vec<_> = incoming.received().collect();
    assert_eq!(received[0].role, Role::System);
    assert_eq!(received[1].text, None);
    let call = ReceivedCall {
        id: "c1",
        name: "f",
        arguments: "{}",
    };
    assert_eq!(received[1].calls[0], call);
    assert_eq!(received[1].calls.len(), 2);
    assert_eq!(received[2].text.as_deref(), Some("ok"));
    assert_eq!(received[2].tool_call_id, Some("c1"));
}
