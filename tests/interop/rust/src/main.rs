//! A Server or an Agent of the Rust SDK, through its public API, for the tests of interop.

mod agent;
mod puppet;
mod server;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    // Logs go to stderr: stdout belongs to the puppet.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server"] => server::serve().await,
        ["agent", name, office] => puppet::run(agent::Agent::new(name, office)).await,
        _ => Err("usage: interop-peer server | agent NAME OFFICE".into()),
    }
}
