//! Lets a test pull the strings of an object, over stdin and stdout; see `python/puppet.py`.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::Failure;

/// What answers calls.
#[async_trait]
pub trait Methods: Send + Sync + 'static {
    async fn call(&self, method: &str, args: &[Value]) -> Result<Value, Failure>;
}

/// Writes one line.
pub fn tell(message: Value) {
    println!("{message}");
}

/// Tells of an event.
pub fn tell_event(event: &str, data: Value) {
    tell(json!({ "event": event, "data": data }));
}

/// Serves the methods of an object, side by side, until stdin ends.
pub async fn run(methods: impl Methods) -> Result<(), Failure> {
    let methods = Arc::new(methods);
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let command: Value = serde_json::from_str(&line)?;
        let methods = Arc::clone(&methods);
        tokio::spawn(async move {
            let method = command["method"].as_str().unwrap_or_default();
            let args = command["args"].as_array().map_or(&[][..], Vec::as_slice);
            let id = &command["id"];
            tell(match methods.call(method, args).await {
                Ok(result) => json!({ "id": id, "result": result }),
                Err(error) => json!({ "id": id, "error": error.to_string() }),
            });
        });
    }
    // No farewell: whatever hangs on this process's pipes ends with it.
    std::process::exit(0)
}
