//! Tools that take a time of their own beside what they do, drawn for each call.

use std::sync::Arc;

use serde_json::Value;

use super::pace::PaceError;
use super::settings::Settings;
use crate::clock::BoxFuture;
use crate::message::ToolDefinition;
use crate::scenario::Latency;
use crate::tools::{Access, Catalog, CatalogError, Repeat, Tool, ToolContext, ToolFailure};

/// How long the tools of a cell take, drawn from the cell's seed.
///
/// # Errors
/// [`PaceError`] where the distribution cannot be read.
pub(super) fn tool_latency(settings: &Settings) -> Result<Latency, PaceError> {
    let latency = match &settings.tool_latency {
        None => Latency::None,
        Some(line) => line.parse()?,
    };
    Ok(latency.with_seed(settings.seed))
}

/// The catalog, every tool of which takes `latency` before it does anything.
///
/// # Errors
/// [`CatalogError`]; the tools of a catalog make one again.
pub(super) fn slowed(catalog: &Catalog, latency: &Latency) -> Result<Catalog, CatalogError> {
    let tools = catalog.names().filter_map(|name| catalog.get(name));
    let slow = tools.map(|tool| {
        let slow: Arc<dyn Tool> = Arc::new(Slow {
            tool: Arc::clone(tool),
            latency: latency.clone(),
        });
        slow
    });
    Catalog::new(slow.collect())
}

struct Slow {
    tool: Arc<dyn Tool>,
    latency: Latency,
}

impl Tool for Slow {
    fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    fn access(&self) -> Access {
        self.tool.access()
    }

    fn needs_approval(&self) -> bool {
        self.tool.needs_approval()
    }

    fn repeat(&self, arguments: &Value) -> Repeat {
        self.tool.repeat(arguments)
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<String, ToolFailure>> {
        Box::pin(async move {
            let operation = context.operation().unwrap_or_default();
            let call_id = operation.rsplit('/').next().unwrap_or_default();
            let time = self.latency.of_call(call_id, 0);
            context.clock.sleep(time, context.signal).await?;
            self.tool.run(arguments, context).await
        })
    }
}
