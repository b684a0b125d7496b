//! In-memory connections between hyper and the simulated service: delayed, fragmented, and cut at any byte.

use super::night::Termination;
use super::service;
use super::world::World;
use crate::transport::simulated::{Exchange, Limits, Network, NetworkFault};
use futures_util::stream::unfold;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use reqwest::{Body, Request, Response};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex};
use tokio::time::{sleep, timeout};

pub(super) struct SimulatedNetwork(pub(super) Arc<World>);

impl Network for SimulatedNetwork {
    fn execute(&self, request: Request, limits: Limits) -> Exchange {
        let world = self.0.clone();
        Box::pin(async move {
            let kind = service::request_kind(request.url().path());
            let start = world.now();
            let result = execute(&world, kind, request, limits).await;
            let status = result.as_ref().map_or(0, |response| response.status().as_u16());
            if let service::RequestKind::Events | service::RequestKind::Messages = kind {
                let is_open = matches!(status, 200 | 101);
                world.state().openings.entry(kind.name()).or_default().push((start, is_open));
            }
            world.trace(&format!("{} {:?}", kind.name(), result.as_ref().map(|_| status).map_err(|fault| *fault)));
            result
        })
    }
}

async fn execute(
    world: &Arc<World>,
    kind: service::RequestKind,
    request: Request,
    limits: Limits,
) -> Result<Response, NetworkFault> {
    let latency = world.latency(kind);
    sleep(latency).await;
    let now = world.now();
    let (refuses, is_blackhole) = {
        let state = world.state();
        (state.faults.refuse > now, state.faults.blackhole > now)
    };
    if is_blackhole {
        world.count("connect timeouts");
        sleep(limits.connect.saturating_sub(latency)).await;
        return Err(NetworkFault::ConnectTimeout);
    }
    if refuses {
        world.count("refused connections");
        return Err(NetworkFault::Refused);
    }
    world.count("connections");
    let (client_end, service_end) = duplex(64 * 1024);
    let is_reset = Arc::new(AtomicBool::new(false));
    let cut = world.state().faults.cut_next.take();
    let conn = ServerConnection { kind, io: service_end, is_reset: is_reset.clone(), cut, world: world.clone() };
    tokio::spawn(serve(world.clone(), conn));
    let (mut sender, connection) = http1::handshake(TokioIo::new(ClientConnection { io: client_end, is_reset }))
        .await
        .map_err(|_| NetworkFault::ConnectionLost)?;
    tokio::spawn(async move {
        let _ = connection.with_upgrades().await;
    });
    let mut request = hyper::Request::<Body>::try_from(request).map_err(|_| NetworkFault::ConnectionLost)?;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).parse();
    *request.uri_mut() = path.map_err(|_| NetworkFault::ConnectionLost)?;
    let exchange = sender.send_request(request);
    let response = match limits.read {
        Some(limit) => timeout(limit, exchange).await.map_err(|_| NetworkFault::ReadTimeout)?,
        None => exchange.await,
    };
    let response = response.map_err(|_| NetworkFault::ConnectionLost)?;
    // The connection lives as long as its sender.
    Ok(Response::from(response.map(|body| Body::wrap_stream(chunks(body, limits.read, sender)))))
}

fn chunks(
    body: Incoming,
    limit: Option<Duration>,
    sender: http1::SendRequest<Body>,
) -> impl futures_util::Stream<Item = Result<bytes::Bytes, io::Error>> {
    unfold((body, sender), move |(mut body, sender)| async move {
        loop {
            let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
            let frame = match limit {
                Some(limit) => match timeout(limit, frame).await {
                    Ok(frame) => frame,
                    Err(_) => return Some((Err(io::ErrorKind::TimedOut.into()), (body, sender))),
                },
                None => frame.await,
            };
            match frame?.map(|frame| frame.into_data()) {
                Ok(Ok(data)) => return Some((Ok(data), (body, sender))),
                Ok(Err(_)) => {}
                Err(error) => return Some((Err(io::Error::other(error)), (body, sender))),
            }
        }
    })
}

async fn serve(world: Arc<World>, mut conn: ServerConnection) {
    world.state().open += 1;
    let cuts = world.cut_all.count();
    let termination = tokio::select! {
        biased;
        (_, termination) = world.cut_all.wait_beyond(cuts) => {
            world.count("cuts");
            termination
        }
        termination = service::handle(&world, &mut conn) => termination,
    };
    conn.end(termination).await;
    world.state().open -= 1;
}

/// The service's end of a connection.
pub(super) struct ServerConnection {
    pub kind: service::RequestKind,
    pub io: DuplexStream,
    is_reset: Arc<AtomicBool>,
    /// After how many bytes it is cut, and how.
    cut: Option<(Termination, u64)>,
    world: Arc<World>,
}

impl ServerConnection {
    /// Writes bytes; an error means that the connection is cut like that.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), Termination> {
        let (mut rest, kind) = (bytes, self.kind);
        while !rest.is_empty() {
            let now = self.world.now();
            let fragment = {
                let mut state = self.world.state();
                let is_slow = state.faults.slow > now;
                is_slow.then(|| (state.random(kind).between(1, 400), state.random(kind).below(300)))
            };
            let mut part = rest.len();
            if let Some((size, wait)) = fragment {
                part = part.min(size as usize);
                sleep(Duration::from_millis(wait)).await;
            }
            if let Some((termination, left)) = &mut self.cut {
                if part as u64 >= *left {
                    self.world.count("cuts");
                    let (termination, end) = (*termination, *left as usize);
                    let _ = self.io.write_all(&rest[..end]).await;
                    return Err(termination);
                }
                *left -= part as u64;
            }
            self.io.write_all(&rest[..part]).await.map_err(|_| Termination::HalfClose)?;
            rest = &rest[part..];
        }
        Ok(())
    }

    async fn end(mut self, termination: Termination) {
        match termination {
            Termination::HalfClose => {}
            Termination::Reset => self.is_reset.store(true, Ordering::Relaxed),
            Termination::Stall => while matches!(self.io.read(&mut [0; 1024]).await, Ok(1..)) {},
        }
    }
}

/// The client's end of a connection, where the end of file may be a reset.
struct ClientConnection {
    io: DuplexStream,
    is_reset: Arc<AtomicBool>,
}

impl AsyncRead for ClientConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.io).poll_read(cx, buf);
        match poll {
            Poll::Ready(Ok(())) if buf.filled().len() == before && self.is_reset.load(Ordering::Relaxed) => {
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
            other => other,
        }
    }
}

impl AsyncWrite for ClientConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
