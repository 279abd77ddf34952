use rand_chacha::rand_core::SeedableRng;

use super::*;

fn made(schema: &Value, seed: u64) -> Made {
    arguments(schema, &mut ChaCha8Rng::seed_from_u64(seed))
}

/// Every kind of schema that tools are seen to have; the property `x` is the one under test.
fn schemas() -> Vec<Value> {
    let with = |x: Value| json!({"type": "object", "properties": {"x": x}, "required": ["x"]});
    let mut schemas = vec![
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({"properties": {"a": {"type": "string"}}, "required": ["a", "b"], "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "minProperties": 3}),
        json!({"type": "object", "patternProperties": {"^k[0-9]{3}$": {"type": "null"}}, "additionalProperties": false, "minProperties": 2}),
        json!({"$ref": "#/$defs/Arguments", "$defs": {"Arguments": {"type": "object", "properties": {"p": {"$ref": "#/$defs/Path"}}, "required": ["p"]}, "Path": {"type": "string", "minLength": 30}}}),
        json!({"type": "object", "properties": {"tree": {"$ref": "#/definitions/node"}}, "required": ["tree"], "definitions": {"node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/definitions/node"}}, "name": {"type": "string"}}, "required": ["children", "name"], "additionalProperties": false}}}),
        json!({"type": "object", "properties": {"list": {"$ref": "#"}, "end": {"type": "boolean"}}, "required": ["end"]}),
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"a": {"minimum": 7, "maximum": 9}}}]}),
        json!({"anyOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"const": 2}}, "required": ["b"]}]}),
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "dependentRequired": {"a": ["b"]}}),
    ];
    schemas.extend(scalars().into_iter().map(with));
    schemas
}

fn scalars() -> Vec<Value> {
    let mut all = vec![
        json!({"const": {"deep": [1, null]}}),
        json!({"enum": ["a", 2, null]}),
        json!({"type": ["string", "null"]}),
        json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null}),
        json!({"oneOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "multipleOf": 5}]}),
        json!({"type": "string", "minLength": 100, "maxLength": 101}),
        json!({"type": "string", "maxLength": 0}),
        json!({"type": "string", "examples": ["errors.log"]}),
        json!({"type": "integer", "default": 3, "minimum": 5}),
        json!({"type": "integer", "minimum": 10, "exclusiveMaximum": 12}),
        json!({"type": "integer", "exclusiveMinimum": -3, "maximum": -1}),
        json!({"type": "integer", "multipleOf": 7, "minimum": 50, "maximum": 60}),
        json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        json!({"type": "number", "multipleOf": 0.25, "minimum": 1}),
        json!({"minimum": 3}),
        json!({"type": "array", "minItems": 3, "items": {"type": "boolean"}}),
        json!({"type": "array", "uniqueItems": true, "minItems": 3, "items": {"enum": [1, 2, 3]}}),
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}], "items": false, "minItems": 2}),
        json!({"type": "array", "contains": {"const": 5}, "items": {"type": "integer"}}),
        json!({"type": "array", "items": {"type": "object", "properties": {"y": {"type": "array", "items": {"type": "array", "minItems": 1}, "minItems": 1}}, "required": ["y"]}, "minItems": 1}),
        json!({"not": {"type": "string", "maxLength": 1}}),
        json!({"type": "array", "maxItems": 0}),
        json!(true),
    ];
    let formats = [
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "uuid",
        "json-pointer",
        "relative-json-pointer",
        "regex",
        "uri-template",
        "a-format-of-their-own",
    ];
    all.extend(formats.map(|format| json!({"type": "string", "format": format})));
    let patterns = [
        "^[A-Z]{3}-\\d{2,4}$",
        "^(red|green|blue)+$",
        "^.{5}$",
        "\\w+@\\w+\\.com",
        "^[^aeiou]$",
        "^(?:a(b|c)?){2,}$",
        "[\\p{Greek}]+",
        "^\\s$",
    ];
    all.extend(patterns.map(|pattern| json!({"type": "string", "pattern": pattern})));
    all
}

#[test]
fn arguments_are_valid_whatever_the_schema_and_the_seed() {
    for schema in schemas() {
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        for seed in 0..40 {
            let made = made(&schema, seed);
            assert_eq!(made.certainty, Certainty::Valid, "{schema}: {}", made.value);
            assert!(validator.is_valid(&made.value), "{schema}: {}", made.value);
            assert!(made.value.is_object(), "{schema}: {}", made.value);
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_arguments() {
    for schema in schemas() {
        assert_eq!(made(&schema, 9), made(&schema, 9));
    }
}

#[test]
fn an_impossible_schema_still_gives_an_object_and_says_that_it_is_unsure() {
    for schema in [
        json!({"type": "object", "required": ["x"], "properties": {"x": false}}),
        json!({"type": "array", "minItems": 1}),
        json!({"type": "object", "properties": {"x": {"$ref": "https://example.com/x"}}, "required": ["x"]}),
        json!({"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}, "required": ["x"]}),
        json!({"type": 7}),
        json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "(?=a)b"}}, "required": ["x"]}),
    ] {
        let made = made(&schema, 0);
        assert_eq!(made.certainty, Certainty::Unsure, "{schema}");
        assert!(made.value.is_object(), "{schema}: {}", made.value);
    }
}

/// A schema of which each definition needs the next one twice.
fn doubling(definitions: u32) -> Value {
    let definition = |number: u32| {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        let both =
            json!({"type": "object", "properties": {"l": next, "r": next}, "required": ["l", "r"]});
        (format!("d{number}"), both)
    };
    let all: Map<String, Value> = (0..definitions).map(definition).collect();
    json!({"$ref": "#/$defs/d0", "$defs": all})
}

#[test]
fn values_are_bounded_over_all_tries_together() {
    let (mut rng, schema) = (ChaCha8Rng::seed_from_u64(0), doubling(40));
    let made = arguments(&schema, &mut rng);
    assert_eq!(made.certainty, Certainty::Unsure);
    let values = crate::message::to_json(&made.value).matches('{').count();
    assert!(values <= usize::try_from(MOST_VALUES).unwrap(), "{values}");
}

#[test]
fn a_schema_that_asks_for_too_much_does_not_get_it() {
    let with = |x: Value| json!({"type": "object", "properties": {"x": x}, "required": ["x"]});
    for schema in [
        with(json!({"type": "string", "minLength": u64::MAX})),
        with(json!({"type": "array", "minItems": u64::MAX, "items": {"type": "null"}})),
        with(json!({"type": "string", "pattern": "((a{1000}){1000}){1000}"})),
        with(
            json!({"type": "array", "minItems": 20_000, "items": {"type": "string", "minLength": 1 << 16}}),
        ),
        with(json!({"type": "array", "minItems": 20_000, "items": {"const": "x".repeat(1 << 16)}})),
        with(
            json!({"type": "array", "minItems": 20_000, "items": {"enum": [["x".repeat(1 << 16)]]}}),
        ),
        with(
            json!({"type": "array", "minItems": 20_000, "items": {"examples": ["x".repeat(1 << 16)]}}),
        ),
        with(
            json!({"type": "array", "minItems": 20_000, "items": {"type": "object", "required": ["k".repeat(1 << 16)]}}),
        ),
        with(
            json!({"type": "array", "minItems": 20_000, "items": {"type": "object", "properties": {"k".repeat(1 << 16): {}}, "minProperties": 1}}),
        ),
        json!({"type": "object", "minProperties": 20_000, "patternProperties": {"^[a-z]{5000}$": {"type": "null"}}}),
        json!({"type": "object", "minProperties": u64::MAX}),
        json!({"$ref": "#"}),
        doubling(40),
        json!({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a", "b"]}),
    ] {
        let value = made(&schema, 0).value;
        assert!(crate::message::to_json(&value).len() < 1 << 21, "{schema}");
    }
}
