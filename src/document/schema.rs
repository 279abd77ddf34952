//! Checking a JSON value against a JSON Schema, in our own words.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, Keyword, ValidationError};
use schemars::JsonSchema;
use serde_json::Value;

use super::child;
use super::wording::{
    Options, expected_types, found, missing_key, too_short, unknown_key, unquoted,
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

/// Which part of a table's entry is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Key,
    Value,
}

/// One mismatch between a value and a schema.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) pointer: String,
    pub(super) part: Part,
    pub(super) message: String,
    pub(super) help: Option<String>,
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
        Err(error) => explainer.value_at("", format!("the schema is unusable: {error}"), None),
    }
    explainer.faults
}

/// Takes the key at a JSON pointer out of its table.
pub(super) fn remove(value: &mut Value, pointer: &str) {
    let Some((table, key)) = pointer.rsplit_once('/') else {
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    if let Some(table) = value.pointer_mut(table).and_then(Value::as_object_mut) {
        table.swap_remove(&key);
    }
}

struct Explainer<'s> {
    schema: &'s Value,
    faults: Vec<Fault>,
}

impl Explainer<'_> {
    fn value_at(&mut self, pointer: &str, message: String, help: Option<String>) {
        self.faults.push(Fault {
            pointer: pointer.to_owned(),
            part: Part::Value,
            message,
            help,
        });
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
            Kind::Required { property } => missing_key(property, self.table_schema(error)),
            Kind::Type { .. } => (
                format!(
                    "expected {}, found {}",
                    expected_types(&types(error.kind())),
                    found(value)
                ),
                unquoted(value, &types(error.kind())),
            ),
            Kind::Enum { .. } | Kind::Constant { .. } => options(error).unknown_value(value),
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
        self.value_at(at, message, help);
    }

    fn unknown_keys(&mut self, error: &ValidationError<'_>, unexpected: &[String]) {
        let known = self
            .table_schema(error)
            .and_then(|schema| schema.get("properties")?.as_object())
            .map(|properties| properties.keys().cloned().collect::<Vec<_>>())
            .unwrap_or_default();
        for key in unexpected {
            let (message, help) = unknown_key(key, &known);
            self.faults.push(Fault {
                pointer: child(error.instance_path().as_str(), key),
                part: Part::Key,
                message,
                help,
            });
        }
    }

    /// The schema that holds the keyword which failed.
    fn table_schema(&self, error: &ValidationError<'_>) -> Option<&Value> {
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
            return self.value_at(at, message, help);
        }
        if let Some((pointer, options)) = common_options(&of_right_type) {
            let named = value.pointer(pointer.strip_prefix(at).unwrap_or_default());
            let (message, help) = options.unknown_value(named.unwrap_or(value));
            return self.value_at(pointer, message, help);
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
