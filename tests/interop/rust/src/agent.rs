//! The SDK's Agent.

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use smcp::{
    A2CSkillRef, EnterOfficeNotification, LeaveOfficeNotification, Role, SMCPTool,
    UpdateMCPConfigNotification, UpdateToolListNotification,
};
use smcp_agent::{
    AsyncAgentEventHandler, AsyncSmcpAgent, DefaultAuthProvider, SmcpAgentConfig, SmcpAgentError,
};
use tokio::sync::RwLock;

use crate::Failure;
use crate::puppet::{Methods, tell_event};

/// Seconds of every call: the SDK has one limit for all.
const CALL_TIMEOUT: u64 = 5;

/// What the SDK tells the user of an Agent.
struct Handler;

type Heard = Result<(), SmcpAgentError>;

#[async_trait]
impl AsyncAgentEventHandler for Handler {
    async fn on_computer_enter_office(
        &self,
        data: EnterOfficeNotification,
        _: &AsyncSmcpAgent,
    ) -> Heard {
        tell_event("enter_office", json!(data));
        Ok(())
    }

    async fn on_computer_leave_office(
        &self,
        data: LeaveOfficeNotification,
        _: &AsyncSmcpAgent,
    ) -> Heard {
        tell_event("leave_office", json!(data));
        Ok(())
    }

    async fn on_computer_update_config(
        &self,
        data: UpdateMCPConfigNotification,
        _: &AsyncSmcpAgent,
    ) -> Heard {
        tell_event("update_config", json!(data));
        Ok(())
    }

    async fn on_computer_update_tool_list(
        &self,
        data: UpdateToolListNotification,
        _: &AsyncSmcpAgent,
    ) -> Heard {
        tell_event("update_tool_list", json!(data));
        Ok(())
    }

    async fn on_tools_received(&self, _: &str, _: Vec<SMCPTool>, _: &AsyncSmcpAgent) -> Heard {
        Ok(())
    }

    async fn on_desktop_updated(&self, computer: &str, _: Vec<String>, _: &AsyncSmcpAgent) -> Heard {
        tell_event("update_desktop", json!({ "computer": computer }));
        Ok(())
    }

    async fn on_skills_received(
        &self,
        computer: &str,
        _: Vec<A2CSkillRef>,
        _: &AsyncSmcpAgent,
    ) -> Heard {
        tell_event("update_skills", json!({ "computer": computer }));
        Ok(())
    }
}

/// An Agent that a test controls.
pub struct Agent {
    name: String,
    office: String,
    agent: RwLock<Option<AsyncSmcpAgent>>,
}

impl Agent {
    pub fn new(name: &str, office: &str) -> Self {
        Self {
            name: name.to_owned(),
            office: office.to_owned(),
            agent: RwLock::new(None),
        }
    }

    async fn connect(&self, url: &str) -> Result<(), Failure> {
        let identity = DefaultAuthProvider::new(self.name.clone(), self.office.clone());
        let config = SmcpAgentConfig::new().with_tool_call_timeout(CALL_TIMEOUT);
        let mut agent = AsyncSmcpAgent::new(identity, config).with_event_handler(Handler);
        agent.connect(url).await?;
        *self.agent.write().await = Some(agent);
        tell_event("connected", Value::Null);
        Ok(())
    }

    /// A file of a skill; what the SDK does not fetch itself comes in chunks.
    async fn skill(
        agent: &AsyncSmcpAgent,
        computer: &str,
        name: &str,
        path: Option<&str>,
    ) -> Result<Value, Failure> {
        let found = agent.get_skill(computer, name, path).await?;
        let bytes = match (found.body, found.blob_handle) {
            (Some(body), _) => body.into_bytes(),
            (None, Some(handle)) => Self::blob(agent, computer, &handle).await?,
            (None, None) => return Err("neither body nor blob_handle".into()),
        };
        Ok(json!({ "mime_type": found.mime_type, "content": STANDARD.encode(bytes) }))
    }

    async fn blob(
        agent: &AsyncSmcpAgent,
        computer: &str,
        handle: &str,
    ) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        loop {
            let offset = Some(bytes.len() as u64);
            let part = agent.get_blob(computer, handle, offset, None).await?;
            bytes.extend(STANDARD.decode(part.blob)?);
            if part.eof {
                return Ok(bytes);
            }
        }
    }
}

#[async_trait]
impl Methods for Agent {
    async fn call(&self, method: &str, args: &[Value]) -> Result<Value, Failure> {
        let text = |at: usize| args.get(at).and_then(Value::as_str);
        let first = text(0).unwrap_or_default();
        if method == "connect" {
            self.connect(first).await?;
            return Ok(Value::Null);
        }
        let agent = self.agent.read().await.clone().ok_or("not connected")?;
        Ok(match method {
            "join" => json!(agent.join_office(&self.name).await?),
            "leave" => json!(agent.leave_office().await?),
            "computers" => agent
                .list_room(&self.office)
                .await?
                .into_iter()
                .filter(|session| matches!(session.role, Role::Computer))
                .map(|session| json!(session.name))
                .collect(),
            "tools" => json!(agent.get_tools(first).await?),
            "desktop" => json!(agent.get_desktop(first, None, None).await?),
            "config" => json!(agent.get_computer_config(first).await?),
            "skills" => json!(agent.get_skills(first).await?),
            "skill" => Self::skill(&agent, first, text(1).unwrap_or_default(), text(2)).await?,
            "put" => {
                let bytes = STANDARD.decode(text(2).unwrap_or_default())?;
                json!(agent.put_blob(first, &bytes, text(1), None).await?.landing_path)
            }
            "call" => {
                let params = args.get(2).cloned().unwrap_or_else(|| json!({}));
                agent.tool_call(first, text(1).unwrap_or_default(), params).await?
            }
            "cancel" => json!(agent.tool_call_cancel(first).await?),
            _ => return Err(format!("the SDK has no way to {method}").into()),
        })
    }
}
