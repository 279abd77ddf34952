//! Checking a JSON value against a JSON Schema, in our own words.

use std::mem::discriminant;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, Keyword, ValidationError};
use schemars::JsonSchema;
use serde_json::{Map, Value};

pub(super) use super::stand_in::stand_in;
use super::wording::{
    Options, Words, expected_types, found, missing_key, nearest, too_short, unknown_key, unquoted,
};

/// The JSON Schema of a type.
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

/// The schema of one key of the table that `schema` describes, usable on its own.
#[must_use]
pub fn property_schema(schema: &Value, key: &str) -> Option<Value> {
    let mut property = schema.get("properties")?.get(key)?.clone();
    if let (Some(map), Some(definitions)) = (property.as_object_mut(), schema.get("$defs")) {
        map.insert("$defs".to_owned(), definitions.clone());
    }
    Some(property)
}

/// One mismatch between a value and a schema.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) pointer: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
    pub(super) mend: Mend,
}

/// How the value at a fault's pointer comes to fit.
#[derive(Debug)]
pub(super) enum Mend {
    /// The table loses an unknown key, which may have been meant for one that it lacks.
    Remove { key: String, meant: Vec<String> },
    /// A misspelt key of the table is taken for one that it lacks.
    Rename { key: String, to: String },
    /// The table gets a key that it lacks, with a stand-in.
    Add { key: String, value: Value },
    /// A stand-in takes its place.
    Replace { value: Value },
    /// What it most likely means takes its place.
    Correct { value: Value },
}

/// Every mismatch. A schema that is wrong itself is one fault of the whole value.
pub(super) fn faults(value: &Value, schema: &Value) -> Vec<Fault> {
    let validator = jsonschema::options()
        .with_keyword("format", |_, format, _| {
            Ok(Box::new(NumberFormat::of(format)))
        })
        .build(schema);
    let mut explainer = Explainer {
        schema,
        faults: Vec::new(),
    };
    match &validator {
        Ok(validator) => validator
            .iter_errors(value)
            .for_each(|error| explainer.explain(&error)),
        Err(error) => {
            let words = (format!("the schema is unusable: {error}"), None);
            let value = Value::Null;
            explainer.fault("", words, Mend::Replace { value });
        }
    }
    explainer.faults
}

struct Explainer<'s> {
    schema: &'s Value,
    faults: Vec<Fault>,
}

impl<'s> Explainer<'s> {
    fn fault(&mut self, pointer: &str, (message, help): Words, mend: Mend) {
        self.faults.push(Fault {
            pointer: pointer.to_owned(),
            message,
            help,
            mend,
        });
    }

    /// A stand-in for the value at which `error` is.
    fn replacement(&self, error: &ValidationError<'_>) -> Mend {
        let schema = self.failed_schema(error).unwrap_or(&Value::Null);
        let value = stand_in(self.schema, schema);
        Mend::Replace { value }
    }

    fn explain(&mut self, error: &ValidationError<'_>) {
        let at = error.instance_path().as_str();
        let value = error.instance();
        let (message, help) = match error.kind() {
            Kind::AdditionalProperties { unexpected } => {
                return self.unknown_keys(error, unexpected);
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                return self.explain_branches(error, context);
            }
            Kind::Required { property } => return self.missing_key(error, property),
            Kind::Type { .. } => (
                format!(
                    "expected {}, found {}",
                    expected_types(&types(error.kind())),
                    found(value)
                ),
                unquoted(value, &types(error.kind())),
            ),
            Kind::Enum { .. } | Kind::Constant { .. } => {
                return self.unknown_value(at, value, &options(error));
            }
            Kind::Minimum { limit } => (format!("must be {limit} or more"), None),
            Kind::Maximum { limit } => (format!("must be {limit} or less"), None),
            Kind::ExclusiveMinimum { limit } => (format!("must be more than {limit}"), None),
            Kind::ExclusiveMaximum { limit } => (format!("must be less than {limit}"), None),
            Kind::MinLength { limit } => too_short(*limit, "characters"),
            Kind::MinItems { limit } => too_short(*limit, "entries"),
            Kind::MinProperties { limit } => too_short(*limit, "keys"),
            Kind::MaxLength { limit } => (format!("must have {limit} characters at most"), None),
            Kind::MaxItems { limit } => (format!("must have {limit} entries at most"), None),
            Kind::MaxProperties { limit } => (format!("must have {limit} keys at most"), None),
            Kind::UniqueItems => ("must not have the same entry twice".to_owned(), None),
            Kind::Pattern { pattern } => (format!("must match the pattern `{pattern}`"), None),
            Kind::Custom { message, .. } => (message.clone(), None),
            other => (
                format!("must satisfy the schema's `{}`", other.keyword()),
                None,
            ),
        };
        self.fault(at, (message, help), self.replacement(error));
    }

    fn missing_key(&mut self, error: &ValidationError<'_>, key: &Value) {
        let table = self.failed_schema(error);
        let words = missing_key(key, table);
        let key = key.as_str().unwrap_or_default().to_owned();
        let schema = table.and_then(|schema| schema.get("properties")?.get(&key));
        let value = stand_in(self.schema, schema.unwrap_or(&Value::Null));
        self.fault(
            error.instance_path().as_str(),
            words,
            Mend::Add { key, value },
        );
    }

    fn unknown_value(&mut self, at: &str, value: &Value, options: &Options) {
        let mend = match (options.meant(value), options.first()) {
            (Some(meant), _) => Mend::Correct {
                value: Value::from(meant),
            },
            (None, first) => Mend::Replace {
                value: first.map_or(Value::Null, Value::from),
            },
        };
        self.fault(at, options.unknown_value(value), mend);
    }

    fn unknown_keys(&mut self, error: &ValidationError<'_>, unexpected: &[String]) {
        let properties = self
            .failed_schema(error)
            .and_then(|schema| schema.get("properties")?.as_object());
        let known: Vec<String> = properties
            .map(|properties| properties.keys().cloned().collect())
            .unwrap_or_default();
        for key in unexpected {
            let mend = self.without(error.instance(), key, properties);
            let words = unknown_key(key, &known);
            self.fault(error.instance_path().as_str(), words, mend);
        }
    }

    /// How `table` loses its unknown `key`: to the key that is spelt like it, or else it may have
    /// been meant for all that take such a value.
    fn without(&self, table: &Value, key: &str, properties: Option<&Map<String, Value>>) -> Mend {
        let properties = || properties.into_iter().flatten();
        let known: Vec<&String> = properties().map(|(name, _)| name).collect();
        let is_absent = |name: &str| table.get(name).is_none();
        let near = nearest(key, &known);
        let key = key.to_owned();
        if let Some(near) = near.filter(|near| is_absent(near)) {
            let to = near.to_owned();
            return Mend::Rename { key, to };
        }
        let kind = table.get(&key).map(discriminant);
        let takes_it = |schema| Some(discriminant(&stand_in(self.schema, schema))) == kind;
        let takers = properties()
            .filter(|(name, schema)| near.is_none() && is_absent(name) && takes_it(schema));
        let meant = takers.map(|(name, _)| name.clone()).collect();
        Mend::Remove { key, meant }
    }

    /// The schema that holds the keyword which failed.
    fn failed_schema(&self, error: &ValidationError<'_>) -> Option<&'s Value> {
        let keyword = error.schema_path().as_str();
        self.schema.pointer(keyword.rsplit_once('/')?.0)
    }

    /// A value that fits none of several forms: says what is wrong with the form that was meant.
    fn explain_branches(
        &mut self,
        error: &ValidationError<'_>,
        branches: &[Vec<ValidationError<'static>>],
    ) {
        let at = error.instance_path().as_str();
        let value = error.instance();
        let of_right_type: Vec<_> = branches
            .iter()
            .filter(|branch| {
                !branch
                    .iter()
                    .any(|e| is_type(e) && e.instance_path().as_str() == at)
            })
            .collect();
        if of_right_type.is_empty() {
            let errors = || branches.iter().flatten();
            let expected: Vec<_> = errors().flat_map(|e| types(e.kind())).collect();
            let help = errors().map(options).collect::<Options>().listed();
            let message = format!(
                "expected {}, found {}",
                expected_types(&expected),
                found(value)
            );
            return self.fault(at, (message, help), self.replacement(error));
        }
        if let Some((pointer, options)) = common_options(&of_right_type) {
            let named = value.pointer(pointer.strip_prefix(at).unwrap_or_default());
            return self.unknown_value(pointer, named.unwrap_or(value), &options);
        }
        let meant = of_right_type.iter().min_by_key(|branch| {
            let wrong_tags = branch.iter().filter(|e| !options(e).is_empty()).count();
            let here = branch.iter().filter(|e| e.instance_path().as_str() == at);
            (wrong_tags, here.count(), branch.len())
        });
        for error in meant.into_iter().copied().flatten() {
            self.explain(error);
        }
    }
}

fn is_type(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Type { .. })
}

/// The types that a type error asks for; `null`, which a TOML text cannot hold, is not one.
fn types(kind: &Kind) -> Vec<JsonType> {
    let all = match kind {
        Kind::Type {
            kind: TypeKind::Single(one),
        } => vec![*one],
        Kind::Type {
            kind: TypeKind::Multiple(several),
        } => several.iter().collect(),
        _ => Vec::new(),
    };
    all.into_iter().filter(|t| *t != JsonType::Null).collect()
}

/// The values that an error would have accepted in place of the one that it found.
fn options(error: &ValidationError<'_>) -> Options {
    match error.kind() {
        Kind::Constant { expected_value } => Options::of([expected_value.as_ref()]),
        Kind::Enum { options } => Options::of(options.as_array().into_iter().flatten()),
        _ => Options::default(),
    }
}

/// The place at which every form asks for some other value, with the values of all forms: the
/// value itself, or the key that says which form it is.
fn common_options<'e>(
    branches: &[&'e Vec<ValidationError<'static>>],
) -> Option<(&'e str, Options)> {
    let at = |branch: &'e [ValidationError<'static>], pointer: Option<&str>| {
        branch
            .iter()
            .find(|e| {
                !options(e).is_empty() && pointer.is_none_or(|p| e.instance_path().as_str() == p)
            })
            .map(|e| (e.instance_path().as_str(), options(e)))
    };
    let (pointer, _) = at(branches.first()?, None)?;
    let each: Option<Vec<_>> = branches
        .iter()
        .map(|branch| at(branch, Some(pointer)).map(|(_, options)| options))
        .collect();
    Some((pointer, each?.into_iter().collect()))
}

/// The ranges of Rust's numbers, which a JSON Schema names as formats. It also refuses `5.0` as a
/// whole number, which JSON Schema allows and serde does not.
enum NumberFormat {
    Signed(i64, i64),
    Unsigned(u64),
    Other,
}

impl NumberFormat {
    fn of(format: &Value) -> Self {
        match format.as_str().unwrap_or_default() {
            "int8" => Self::Signed(i8::MIN.into(), i8::MAX.into()),
            "int16" => Self::Signed(i16::MIN.into(), i16::MAX.into()),
            "int32" => Self::Signed(i32::MIN.into(), i32::MAX.into()),
            "int64" | "int" => Self::Signed(i64::MIN, i64::MAX),
            "uint8" => Self::Unsigned(u8::MAX.into()),
            "uint16" => Self::Unsigned(u16::MAX.into()),
            "uint32" => Self::Unsigned(u32::MAX.into()),
            "uint64" | "uint" => Self::Unsigned(u64::MAX),
            _ => Self::Other,
        }
    }

    fn mismatch(&self, value: &Value) -> Option<String> {
        let Value::Number(number) = value else {
            return None;
        };
        let float = number.as_f64().filter(|_| number.is_f64());
        let whole = float.is_some_and(|f| f.fract().abs() < f64::MIN_POSITIVE);
        match self {
            Self::Other => None,
            _ if whole => Some(format!("expected a whole number, found {}", found(value))),
            Self::Signed(least, _) if number.as_i64().is_some_and(|n| n < *least) => {
                Some(format!("must be {least} or more"))
            }
            Self::Signed(_, most)
                if number.is_u64() && number.as_i64().is_none_or(|n| n > *most) =>
            {
                Some(format!("must be {most} or less"))
            }
            Self::Unsigned(most) if number.as_u64().is_some_and(|n| n > *most) => {
                Some(format!("must be {most} or less"))
            }
            Self::Signed(..) | Self::Unsigned(_) => None,
        }
    }
}

impl Keyword<'_> for NumberFormat {
    fn validate(&self, value: &Value) -> Result<(), ValidationError<'static>> {
        match self.mismatch(value) {
            Some(message) => Err(ValidationError::custom(message)),
            None => Ok(()),
        }
    }

    fn is_valid(&self, value: &Value) -> bool {
        self.mismatch(value).is_none()
    }
}
