//! The SDK's Server with its version gate, open to everybody.

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use serde_json::Value;
use smcp_server_core::{AuthError, AuthenticationProvider, SmcpServerBuilder};
use smcp_server_hyper::HyperServerBuilder;

use crate::Failure;

#[derive(Debug)]
struct Anybody;

#[async_trait]
impl AuthenticationProvider for Anybody {
    async fn authenticate(&self, _: &HeaderMap, _: Option<&Value>) -> Result<(), AuthError> {
        Ok(())
    }
}

/// Serves on a free port, which only the SDK's log names.
pub async fn serve() -> Result<(), Failure> {
    let layer = SmcpServerBuilder::new()
        .with_auth_provider(Arc::new(Anybody))
        .build_layer()?;
    HyperServerBuilder::new()
        .with_layer(layer)
        .build()
        .run("127.0.0.1:0".parse()?)
        .await
}
