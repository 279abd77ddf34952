//! Tools that leave a mark in a world that outlives the process.

use std::sync::{Arc, Mutex};

use loopmeter::clock::BoxFuture;
use loopmeter::message::ToolDefinition;
use loopmeter::tools::{Access, Catalog, Repeat, Tool, ToolContext, ToolError, ToolFailure};
use serde_json::{Value, json};

use crate::fate::Fate;

/// The name of every tool, what it does, and whether it asks first.
const TOOLS: [(&str, Access, bool); 4] = [
    ("look", Access::ReadOnly, false),
    ("write", Access::Write, false),
    ("ask", Access::Write, true),
    ("keyed", Access::Write, false),
];

/// What was written, by operation, in order.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<Vec<String>>>);

impl World {
    pub(crate) fn writes(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn has(&self, operation: &str) -> bool {
        self.0.lock().unwrap().iter().any(|done| done == operation)
    }

    fn write(&self, operation: &str) {
        self.0.lock().unwrap().push(operation.to_owned());
    }
}

/// What a call answers, once its work is done: a function of its tool and arguments.
pub(crate) fn result(name: &str, n: &Value) -> Result<String, ToolError> {
    if n == &json!(7) {
        return Err(ToolError::recoverable("seven is not there"));
    }
    if n == &json!(13) {
        return Err(ToolError::permanent("thirteen is forbidden"));
    }
    Ok(format!("{name} {n}"))
}

/// The tools of all runs: making them takes longer than a run. Each process puts its own world
/// and fate behind them.
pub(crate) struct Bench {
    pub(crate) catalog: Catalog,
    now: Now,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let now = Now(Arc::new(Mutex::new((World::default(), Fate::none()))));
        Self {
            catalog: catalog(&now),
            now,
        }
    }

    pub(crate) fn set(&self, world: &World, fate: &Fate) {
        *self.now.0.lock().unwrap() = (world.clone(), fate.clone());
    }
}

#[derive(Clone)]
struct Now(Arc<Mutex<(World, Fate)>>);

struct Marking {
    definition: ToolDefinition,
    access: Access,
    asks: bool,
    now: Now,
}

impl Tool for Marking {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        self.access
    }

    fn needs_approval(&self) -> bool {
        self.asks
    }

    fn repeat(&self, _: &Value) -> Repeat {
        if self.access == Access::ReadOnly || self.definition.name == "keyed" {
            Repeat::Harmless
        } else {
            Repeat::Unsafe
        }
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async move {
            let operation = context.operation().unwrap();
            let (world, fate) = self.now.0.lock().unwrap().clone();
            fate.moment().await;
            context.signal.check(context.clock.now())?;
            let result = result(&self.definition.name, &arguments["n"])?;
            let keyed = self.definition.name == "keyed";
            let executed = keyed && world.has(operation);
            if self.access == Access::Write && !executed {
                world.write(operation);
            }
            fate.moment().await;
            // Too late: the work is done, and the tool says that it was stopped.
            context.signal.check(context.clock.now())?;
            Ok(result)
        })
    }
}

fn catalog(now: &Now) -> Catalog {
    let tools = TOOLS.iter().map(|(name, access, asks)| {
        let definition = ToolDefinition {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({
                "type": "object",
                "properties": { "n": { "type": "integer" } },
                "required": ["n"],
            }),
        };
        let tool: Arc<dyn Tool> = Arc::new(Marking {
            definition,
            access: *access,
            asks: *asks,
            now: now.clone(),
        });
        tool
    });
    Catalog::new(tools.collect()).unwrap()
}
