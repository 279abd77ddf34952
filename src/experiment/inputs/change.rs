//! One input that changed, in words that finish a sentence beginning with "since".

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::document::child;
use crate::experiment::Topic;

/// The longest value that is shown as it is.
const MOST_SHOWN: usize = 48;

/// An input that is not what it was.
#[derive(Clone, Debug, PartialEq)]
pub struct InputChange {
    /// The input's name, such as `tool.list_files` or `settings.dedupe`.
    pub name: String,
    /// What it was; none where it is new.
    pub was: Option<Value>,
    /// What it is; none where it is gone.
    pub is: Option<Value>,
}

/// What an input can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// What any row says.
    Rows,
    /// Which rows there are.
    Cells,
    /// What the cell of this case says, and whether it is there.
    Case,
    /// What is read from the rows, and no row.
    Readout,
}

impl InputChange {
    /// What the input can change.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match self.split() {
            ("axis" | "repeat" | "combine", _) => Reach::Cells,
            ("case", _) => Reach::Case,
            ("table" | "summary" | "fit", _) => Reach::Readout,
            _ => Reach::Rows,
        }
    }

    /// Whether the change can be the reason why the cell called `cell` says something else.
    #[must_use]
    pub fn concerns(&self, cell: &str) -> bool {
        match self.reach() {
            Reach::Rows => true,
            Reach::Case => self.split().1 == cell,
            Reach::Cells | Reach::Readout => false,
        }
    }

    /// What of the experiment's file it is about.
    #[must_use]
    pub fn topic(&self) -> Topic {
        Topic(match self.split() {
            ("settings", setting) => child("/settings", setting),
            (prompt @ ("system" | "user"), _) => child("/settings", prompt),
            ("axis" | "combine", _) => "/axis".to_owned(),
            ("case", _) => "/case".to_owned(),
            ("tool", name) => child("/settings/descriptions", name),
            ("scenario", _) => "/settings/scenario".to_owned(),
            ("price", _) => "/settings/price".to_owned(),
            ("world", _) => "/settings/workspace".to_owned(),
            ("subagent", _) => "/subagent".to_owned(),
            (part @ ("table" | "summary" | "fit" | "harness" | "repeat" | "clock"), _) => {
                format!("/{part}")
            }
            _ => "/settings".to_owned(),
        })
    }

    /// Whether it is not the mere consequence of another change: a list of tools differs because a
    /// tool came or went, and a scenario came because a setting names it now.
    pub(super) fn tells_something(&self) -> bool {
        if matches!(self.split().0, "scenario" | "price" | "world") {
            return self.was.is_some() && self.is.is_some();
        }
        let names = |value: &Option<Value>| -> BTreeSet<String> {
            let list = value.as_ref().and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        self.name != "tools" || names(&self.was) == names(&self.is)
    }

    /// The kind of the input, and which of them.
    fn split(&self) -> (&str, &str) {
        self.name.split_once('.').unwrap_or((&self.name, ""))
    }

    /// A part of the input, before and now, where both have it and it differs.
    fn part(&self, key: &str) -> Option<(&Value, &Value)> {
        let was = self.was.as_ref()?.get(key)?;
        let is = self.is.as_ref()?.get(key)?;
        (was != is).then_some((was, is))
    }

    /// A thing, with whether it came, went or changed.
    fn became(&self, what: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let became = match (&self.was, &self.is) {
            (None, _) => "is new",
            (_, None) => "is gone",
            _ => "changed",
        };
        write!(f, "{what} {became}")
    }

    fn tool(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.part("description"), self.part("parameters")) {
            (Some(_), None) => write!(f, "the tool description of `{name}` changed"),
            (None, Some(_)) => write!(f, "the parameters of the tool `{name}` changed"),
            _ => self.became(&format!("the tool `{name}`"), f),
        }
    }

    fn setting(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (shown(self.was.as_ref()), shown(self.is.as_ref())) {
            (Some(was), Some(is)) => write!(f, "`{name}` is {is}, which was {was}"),
            (None, Some(is)) if self.was.is_none() => write!(f, "`{name}` is {is}"),
            (Some(was), None) if self.is.is_none() => {
                write!(f, "`{name}` is not set, which was {was}")
            }
            _ => self.became(&format!("`{name}`"), f),
        }
    }

    fn price(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("input_usd_per_million", "prompt"),
            ("output_usd_per_million", "completion"),
        ];
        let parts = parts.into_iter().filter_map(|(key, tokens)| {
            let (was, is) = self.part(key)?;
            let (was, is) = (was.as_str()?, is.as_str()?);
            Some(format!(
                "${is} per million {tokens} tokens, which was ${was}"
            ))
        });
        match parts.collect::<Vec<_>>().join(", and ") {
            none if none.is_empty() => self.became(&format!("the price `{name}`"), f),
            parts => write!(f, "the price `{name}` is {parts}"),
        }
    }
}

/// A value that is short enough to be shown, as it is written.
fn shown(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    };
    (text.chars().count() <= MOST_SHOWN && !text.contains('\n')).then_some(text)
}

/// What changed, as the end of a sentence that begins with "since".
impl fmt::Display for InputChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.split() {
            ("tool", name) => self.tool(name, f),
            ("tools", _) => f.write_str("the tools are in another order"),
            ("system", _) => self.became("the system prompt", f),
            ("user", _) => self.became("the user's message", f),
            ("settings", name) => self.setting(name, f),
            ("default", name) => {
                f.write_str("by default ")?;
                self.setting(name, f)
            }
            ("axis", name) => self.became(&format!("the axis `{name}`"), f),
            ("case", name) => self.became(&format!("the case `{name}`"), f),
            ("scenario", name) => self.became(&format!("the scenario `{name}`"), f),
            ("world", name) => self.became(&format!("the file `{name}` of the workspace"), f),
            ("price", name) => self.price(name, f),
            ("words", name) => {
                write!(f, "the wording of `{name}`")?;
                match (shown(self.was.as_ref()), shown(self.is.as_ref())) {
                    (Some(was), Some(is)) => write!(f, " is {is}, which was {was}"),
                    _ => f.write_str(" changed"),
                }
            }
            ("subagent", name) => self.became(&format!("the sub-agent `{name}`"), f),
            ("harness", _) => self.became("the command", f),
            ("table" | "summary" | "fit", _) => {
                let what = format!("`[{}]` of the experiment's file", self.name);
                self.became(&what, f)
            }
            _ => self.setting(&self.name, f),
        }
    }
}
