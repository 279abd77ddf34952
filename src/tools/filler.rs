//! Made-up tools: plausible definitions that a model is told of and that nobody calls, to see what
//! a long list of tools costs.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Access, FnTool, Tool};

/// What they do, and what the model reads of it.
const VERBS: [(&str, &str); 10] = [
    ("get", "Returns one"),
    ("list", "Lists every"),
    ("search", "Searches each"),
    ("create", "Creates a new"),
    ("update", "Changes the fields of one"),
    ("archive", "Archives one"),
    ("export", "Exports every"),
    ("count", "Counts each"),
    ("compare", "Compares two versions of one"),
    ("validate", "Checks one"),
];

/// What they do it to.
const NOUNS: [&str; 20] = [
    "customer",
    "invoice",
    "order",
    "shipment",
    "refund",
    "ticket",
    "product",
    "warehouse",
    "supplier",
    "contract",
    "employee",
    "project",
    "report",
    "dashboard",
    "payment",
    "campaign",
    "booking",
    "vehicle",
    "device",
    "licence",
];

/// The first `number` of 200 made-up tools; always the same ones.
#[must_use]
pub fn filler_tools(number: u32) -> Vec<Arc<dyn Tool>> {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let all = VERBS.iter().flat_map(|verb| NOUNS.map(|noun| (verb, noun)));
    let tools = all.take(number).map(|((verb, does), noun)| {
        let name = format!("{verb}_{noun}");
        let description = format!(
            "{does} {noun} that the caller may see, and returns it as JSON. Fails if there is none."
        );
        let tool = FnTool::new(
            (&name, &description),
            parameters(noun),
            Access::ReadOnly,
            |_| Ok(String::new()),
        );
        Arc::new(tool) as Arc<dyn Tool>
    });
    tools.collect()
}

fn parameters(noun: &str) -> Value {
    let id = format!("{noun}_id");
    json!({
        "type": "object",
        "properties": {
            id.as_str(): { "type": "string", "description": format!("The id of the {noun}.") },
            "fields": {
                "type": "array",
                "items": { "type": "string" },
                "description": "The fields to return. Default: all of them.",
            },
            "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
        },
        "required": [id],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Catalog;

    #[test]
    fn there_are_two_hundred_made_up_tools_with_names_of_their_own() {
        let catalog = Catalog::new(filler_tools(500)).unwrap();
        assert_eq!(catalog.names().count(), 200);
        let few = Catalog::new(filler_tools(3)).unwrap();
        let (few, all) = (few.definitions(), catalog.definitions());
        assert_eq!(few, &all[..3]);
    }
}
