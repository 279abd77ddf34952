//! A sub-agent: a tool with a whole run behind it.

use std::sync::Arc;

use serde_json::Value;

use crate::clock::BoxFuture;
use crate::message::ToolDefinition;
use crate::provider::Provider;
use crate::run::drive::{Harness, Watchers, drive};
use crate::run::machine::Machine;
use crate::run::state::{RunSettings, RunState, StopReason};
use crate::tools::{Access, Bill, Catalog, Tool, ToolContext, ToolError, ToolFailure};

/// What the parent reads when the child's run ended without an answer.
pub const NO_RESULT: &str = "no result";

/// A tool that answers a `question` by running an agent of its own: its own transcript and
/// limits, the parent's clock, workspace and stop signal. The parent's transcript receives only
/// the child's answer, and its bill is kept apart from the parent's budget.
pub struct SubAgent {
    definition: ToolDefinition,
    system: String,
    provider: Arc<dyn Provider>,
    catalog: Arc<Catalog>,
    settings: RunSettings,
}

impl SubAgent {
    /// A sub-agent that the model knows by `name` and `description`.
    #[must_use]
    pub fn new(
        (name, description): (&str, &str),
        system: &str,
        provider: Arc<dyn Provider>,
        catalog: Arc<Catalog>,
        settings: RunSettings,
    ) -> Self {
        let parameters = serde_json::json!({
            "type": "object",
            "properties": { "question": { "type": "string" } },
            "required": ["question"],
        });
        let (name, description) = (name.to_owned(), description.to_owned());
        let definition = ToolDefinition {
            name,
            description,
            parameters,
        };
        Self {
            definition,
            system: system.to_owned(),
            provider,
            catalog,
            settings,
        }
    }

    async fn ask(&self, question: &str, context: &ToolContext<'_>) -> Result<String, ToolFailure> {
        // The child's calls are known by the parent's call, so that no two children share a name.
        let run_id = match context.operation() {
            Some(operation) => format!("{operation}/{}", self.definition.name),
            None => self.definition.name.clone(),
        };
        let child = RunState::new(&run_id, self.settings.clone(), &self.system, question);
        let mut machine = Machine::new(child, &self.catalog);
        let harness = Harness {
            provider: self.provider.as_ref(),
            catalog: &self.catalog,
            workspace: context.workspace,
            clock: context.clock,
            signal: context.signal,
        };
        let driven = drive(&mut machine, harness, &mut Watchers::none()).await;
        let child = machine.into_state();
        context.add_bill(bill_of(&child));
        driven.map_err(|error| ToolError::recoverable(error.to_string()))?;
        if let Some(StopReason::Cancelled { .. }) = &child.interruption {
            context.signal.check(context.clock.now())?;
        }
        Ok(child.output.unwrap_or_else(|| NO_RESULT.to_owned()))
    }
}

impl Tool for SubAgent {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn access(&self) -> Access {
        let writes = |name: &str| {
            self.catalog
                .get(name)
                .is_some_and(|tool| tool.access() == Access::Write)
        };
        if self.catalog.names().any(writes) {
            Access::Write
        } else {
            Access::ReadOnly
        }
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async move {
            let question = arguments
                .get("question")
                .and_then(Value::as_str)
                .unwrap_or_default();
            self.ask(question, context).await
        })
    }
}

/// The bill of one run and everything below it.
fn bill_of(run: &RunState) -> Bill {
    let mut bill = run.children;
    bill += Bill {
        runs: 1,
        turns: run.turns,
        requests: run.requests,
        attempts: run.attempts,
        tool_runs: run.tool_runs,
        usage: run.usage,
        cost: run.cost,
    };
    bill
}
