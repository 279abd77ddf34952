//! Values that a JSON Schema allows.
//!
//! A value is made from the schema's keywords and then held against the whole schema, a few times
//! over if need be: what the making does not know of, the check does.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde_json::{Map, Value, json};

use super::merge::merge;
use super::pattern;
use super::scalar;
use crate::message::to_json;

/// A value, and whether the schema allows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    pub(super) value: Value,
    pub(super) certainty: Certainty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// It was held against the schema.
    Valid,
    /// No value that the schema allows was found, or it is no schema.
    Unsure,
}

/// How often a value is made before giving up.
const TRIES: u32 = 32;
/// The most values that are made for one call, all tries together.
const MOST_VALUES: u32 = 20_000;
/// So many bytes of a text, a name, or a value that the schema names count as one more value:
/// however a few bytes of a schema multiply, the arguments have a megabyte or two.
const BYTES_OF_VALUE: usize = 64;
/// So many bytes of a schema that is read once more count as one more value: however it refers to
/// itself, some twenty megabytes of it are read.
const BYTES_OF_SCHEMA: usize = 1_024;
/// From this depth on, only what must be there is.
const DEEP: u32 = 4;
/// From this depth on, there is nothing.
const DEEPEST: u32 = 64;
/// How often references and alternatives are followed before a value is made of what is there.
const MOST_STEPS: u32 = 64;

/// The arguments of a call of a tool with these `parameters`.
pub(super) fn arguments(parameters: &Value, rng: &mut ChaCha8Rng) -> Made {
    let Value::Object(schema) = parameters else {
        return Made {
            value: json!({}),
            certainty: Certainty::Valid,
        };
    };
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(parameters)
        .ok();
    let mut object = schema.clone();
    object.entry("type").or_insert_with(|| json!("object"));
    let object = Value::Object(object);
    let (mut made, mut left) = (json!({}), MOST_VALUES);
    for attempt in 0..TRIES {
        let mut maker = Maker {
            root: parameters,
            rng,
            left,
            examples: match attempt {
                0 => Examples::Used,
                _ => Examples::Ignored,
            },
        };
        made = maker.value(&object, 0);
        left = maker.left;
        let valid = validator.as_ref().is_some_and(|all| all.is_valid(&made));
        if valid && made.is_object() {
            return Made {
                value: made,
                certainty: Certainty::Valid,
            };
        }
        if left == 0 {
            break;
        }
    }
    if !made.is_object() {
        made = json!({});
    }
    Made {
        value: made,
        certainty: Certainty::Unsure,
    }
}

/// Whether a tool with these `parameters` allows `value`.
pub(super) fn allows(parameters: &Value, value: &Value) -> bool {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(parameters);
    validator.is_ok_and(|all| all.is_valid(value))
}

/// Whether the examples and defaults of a schema are taken as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Examples {
    Used,
    Ignored,
}

struct Maker<'s, 'r> {
    root: &'s Value,
    rng: &'r mut ChaCha8Rng,
    /// How many more values may be made.
    left: u32,
    examples: Examples,
}

impl Maker<'_, '_> {
    fn value(&mut self, schema: &Value, depth: u32) -> Value {
        if self.left == 0 || depth > DEEPEST {
            return Value::Null;
        }
        self.left -= 1;
        let Value::Object(schema) = schema else {
            return json!(scalar::word(self.rng));
        };
        self.charge(to_json(schema).len() / BYTES_OF_SCHEMA);
        let schema = self.flat(schema.clone(), depth);
        if let Some(constant) = schema.get("const") {
            return self.charged(constant.clone());
        }
        if let Some(one) = schema.get("enum").and_then(Value::as_array) {
            let one = choose(one, self.rng).cloned().unwrap_or_default();
            return self.charged(one);
        }
        if let Some(example) = self.example(&schema, depth) {
            return self.charged(example);
        }
        match self.type_of(&schema) {
            "object" => self.object(&schema, depth),
            "array" => self.array(&schema, depth),
            "integer" => scalar::integer(&schema, self.rng),
            "number" => scalar::number(&schema, self.rng),
            "boolean" => Value::Bool(self.rng.next_u64() & 1 == 1),
            "null" => Value::Null,
            _ => {
                let text = scalar::string(&schema, self.rng);
                self.charged(json!(text))
            }
        }
    }

    /// A value, its length taken off what may still be made.
    fn charged(&mut self, value: Value) -> Value {
        let bytes = match &value {
            Value::String(text) => text.len(),
            value => to_json(value).len(),
        };
        self.charge(bytes / BYTES_OF_VALUE);
        value
    }

    fn charge(&mut self, values: usize) {
        let values = u32::try_from(values).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(values);
    }

    /// Adds a property, while anything may still be made.
    fn insert(&mut self, object: &mut Map<String, Value>, name: String, of: (&Value, u32)) {
        if self.left > 0 {
            self.charge(name.len() / BYTES_OF_VALUE);
            let (schema, depth) = of;
            let value = self.value(schema, depth);
            object.insert(name, value);
        }
    }

    /// An example of the schema's own; the arguments as a whole are made.
    fn example(&mut self, schema: &Map<String, Value>, depth: u32) -> Option<Value> {
        if self.examples == Examples::Ignored || depth == 0 {
            return None;
        }
        let examples = schema.get("examples").and_then(Value::as_array);
        let example = examples.and_then(|examples| choose(examples, self.rng));
        let default = schema.get("default").filter(|default| !default.is_null());
        example.or(default).cloned()
    }

    /// The schema with its references followed, its parts merged and its alternatives chosen.
    fn flat(&mut self, mut schema: Map<String, Value>, depth: u32) -> Map<String, Value> {
        for _ in 0..MOST_STEPS {
            if self.left == 0 {
                break;
            }
            self.charge(to_json(&schema).len() / BYTES_OF_SCHEMA);
            if let Some(reference) = schema.shift_remove("$ref") {
                let target = reference.as_str().and_then(|text| self.resolve(text));
                schema = merge(target, schema);
            } else if let Some(all) = schema.shift_remove("allOf") {
                let parts = all.as_array().into_iter().flatten();
                schema = parts.fold(schema, |merged, part| {
                    merge(part.as_object().cloned(), merged)
                });
            } else if let Some(some) = ["anyOf", "oneOf"]
                .iter()
                .find_map(|key| schema.shift_remove(*key))
            {
                let branch = self.branch(some.as_array().map_or(&[], Vec::as_slice), depth);
                schema = merge(branch, schema);
            } else {
                break;
            }
        }
        schema
    }

    /// One of several schemas: any, or, deep down, the simplest.
    fn branch(&mut self, some: &[Value], depth: u32) -> Option<Map<String, Value>> {
        let branch = if depth < DEEP {
            choose(some, self.rng)
        } else {
            some.iter().min_by_key(|branch| effort(branch))
        };
        branch?.as_object().cloned()
    }

    fn resolve(&self, reference: &str) -> Option<Map<String, Value>> {
        let pointer = reference.strip_prefix('#')?.replace("%25", "%");
        self.root.pointer(&pointer)?.as_object().cloned()
    }

    fn type_of<'t>(&mut self, schema: &'t Map<String, Value>) -> &'t str {
        match schema.get("type") {
            Some(Value::String(one)) => one,
            Some(Value::Array(several)) => {
                let useful: Vec<_> = several.iter().filter(|one| *one != "null").collect();
                let chosen = choose(&useful, self.rng);
                chosen.and_then(|one| one.as_str()).unwrap_or("null")
            }
            _ => implied_type(schema),
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: u32) -> Value {
        let required = strings(schema.get("required"));
        let mut object = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let optional = depth < DEEP && *property != Value::Bool(false);
            if required.contains(&name.as_str()) || (optional && self.rng.next_u64() & 1 == 1) {
                self.insert(&mut object, name.clone(), (property, depth + 1));
            }
        }
        let others = schema.get("additionalProperties").unwrap_or(&Value::Null);
        for name in required {
            if !object.contains_key(name) {
                self.insert(&mut object, name.to_owned(), (others, depth + 1));
            }
        }
        self.fill(&mut object, schema, depth);
        Value::Object(object)
    }

    /// Adds properties until there are as many as there must be.
    fn fill(&mut self, object: &mut Map<String, Value>, schema: &Map<String, Value>, depth: u32) {
        let least = schema.get("minProperties").and_then(Value::as_u64);
        let least = usize::try_from(least.unwrap_or(0)).unwrap_or(usize::MAX);
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if object.len() < least && !object.contains_key(name) {
                self.insert(object, name.clone(), (property, depth + 1));
            }
        }
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let pattern = patterns.and_then(|patterns| patterns.iter().next());
        let others = schema.get("additionalProperties").unwrap_or(&Value::Null);
        while object.len() < least && self.left > 0 {
            let (name, property) = match pattern {
                Some((pattern, property)) => (pattern::text(pattern, self.rng), property),
                None => (Some(format!("key{}", object.len())), others),
            };
            self.insert(object, name.unwrap_or_default(), (property, depth + 1));
        }
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: u32) -> Value {
        let size = |key: &str| schema.get(key).and_then(Value::as_u64);
        let contains = schema.get("contains");
        let wanted = match contains {
            Some(_) => size("minContains").unwrap_or(1),
            None => 0,
        };
        let least = size("minItems").unwrap_or(0).max(wanted);
        let most = size("maxItems").unwrap_or(u64::MAX).max(least);
        let more = match depth {
            0..DEEP => self.rng.next_u64() % ((most - least).min(2) + 1),
            _ => 0,
        };
        let tuple = ["prefixItems", "items"]
            .iter()
            .find_map(|key| schema.get(*key)?.as_array())
            .map_or(&[][..], Vec::as_slice);
        let rest = schema.get("items").filter(|items| !items.is_array());
        let unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let mut items: Vec<Value> = Vec::new();
        for at in 0..least.saturating_add(more) {
            let place = usize::try_from(at).unwrap_or(usize::MAX);
            let schema = match (tuple.get(place), contains) {
                (Some(schema), _) => schema,
                (None, Some(contains)) if at < wanted => contains,
                (None, _) => rest.unwrap_or(&Value::Null),
            };
            if *schema == Value::Bool(false) || self.left == 0 {
                break;
            }
            let item = self.item(schema, depth, if unique { &items } else { &[] });
            items.push(item);
        }
        Value::Array(items)
    }

    /// An item, made again a few times if it is one of `taken`.
    fn item(&mut self, schema: &Value, depth: u32, taken: &[Value]) -> Value {
        let mut item = self.value(schema, depth + 1);
        for _ in 0..TRIES {
            if !taken.contains(&item) {
                break;
            }
            item = self.value(schema, depth + 1);
        }
        item
    }
}

/// What a schema without a type speaks of.
fn implied_type(schema: &Map<String, Value>) -> &'static str {
    const KEYS: [(&str, &[&str]); 3] = [
        (
            "object",
            &[
                "properties",
                "required",
                "additionalProperties",
                "minProperties",
            ],
        ),
        ("array", &["items", "prefixItems", "minItems", "contains"]),
        (
            "number",
            &[
                "minimum",
                "maximum",
                "multipleOf",
                "exclusiveMinimum",
                "exclusiveMaximum",
            ],
        ),
    ];
    let speaks_of = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
    KEYS.iter()
        .find(|(_, keys)| speaks_of(keys))
        .map_or("string", |(name, _)| name)
}

/// How much of a value a schema asks for, roughly.
fn effort(schema: &Value) -> u32 {
    let is = |name: &str| schema.get("type").is_some_and(|kind| kind == name);
    let has = |key: &str| schema.get(key).is_some();
    match () {
        () if has("const") || has("enum") || is("null") => 0,
        () if has("$ref") || has("anyOf") || has("oneOf") || has("allOf") => 4,
        () if is("object") || has("properties") => 3,
        () if is("array") => 2,
        () => 1,
    }
}

fn strings(list: Option<&Value>) -> Vec<&str> {
    let list = list.and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// One of several, none of none.
pub(super) fn choose<'t, T>(several: &'t [T], rng: &mut ChaCha8Rng) -> Option<&'t T> {
    let count = several.len() as u64;
    let at = rng.next_u64().checked_rem(count)?;
    several.get(usize::try_from(at).ok()?)
}

#[cfg(test)]
mod tests;
