//! The network: connections in memory, over which the client speaks through hyper, late, in pieces, and cut at any byte.

use super::night::How;
use super::service;
use super::world::World;
use crate::transport::simulated::{Exchange, Limits, Network, Trouble};
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

pub(super) struct Sockets(pub(super) Arc<World>);

impl Network for Sockets {
    fn execute(&self, request: Request, limits: Limits) -> Exchange {
        let world = self.0.clone();
        Box::pin(async move {
            let kind = service::kind(request.url().path());
            let begun = world.now();
            let executed = execute(&world, kind, request, limits).await;
            let status = executed.as_ref().map_or(0, |response| response.status().as_u16());
            if let service::Kind::Events | service::Kind::Messages = kind {
                let stood = matches!(status, 200 | 101);
                world.state().openings.entry(kind.name()).or_default().push((begun, stood));
            }
            world.trace(&format!(
                "{} {:?}",
                kind.name(),
                executed.as_ref().map(|_| status).map_err(|trouble| *trouble)
            ));
            executed
        })
    }
}

async fn execute(
    world: &Arc<World>,
    kind: service::Kind,
    request: Request,
    limits: Limits,
) -> Result<Response, Trouble> {
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
        return Err(Trouble::ConnectTimeout);
    }
    if refuses {
        world.count("refused connections");
        return Err(Trouble::Refused);
    }
    world.count("connections");
    let (near, far) = duplex(64 * 1024);
    let is_reset = Arc::new(AtomicBool::new(false));
    let cut = world.state().faults.cut_next.take();
    let conn = Conn { kind, io: far, is_reset: is_reset.clone(), cut, world: world.clone() };
    tokio::spawn(serve(world.clone(), conn));
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(Cable { io: near, is_reset })).await.map_err(|_| Trouble::Broken)?;
    tokio::spawn(async move {
        let _ = connection.with_upgrades().await;
    });
    let mut request = hyper::Request::<Body>::try_from(request).map_err(|_| Trouble::Broken)?;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).parse();
    *request.uri_mut() = path.map_err(|_| Trouble::Broken)?;
    let sent = sender.send_request(request);
    let response = match limits.read {
        Some(limit) => timeout(limit, sent).await.map_err(|_| Trouble::ReadTimeout)?,
        None => sent.await,
    };
    let response = response.map_err(|_| Trouble::Broken)?;
    // The connection lasts as long as somebody holds its sender.
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

async fn serve(world: Arc<World>, mut conn: Conn) {
    world.state().open += 1;
    let cuts = world.cut.count();
    let how = tokio::select! {
        biased;
        (_, how) = world.cut.beyond(cuts) => {
            world.count("cuts");
            how
        }
        how = service::handle(&world, &mut conn) => how,
    };
    conn.end(how).await;
    world.state().open -= 1;
}

/// The service's end.
pub(super) struct Conn {
    kind: service::Kind,
    pub io: DuplexStream,
    is_reset: Arc<AtomicBool>,
    /// How it ends, after so many bytes.
    cut: Option<(How, u64)>,
    world: Arc<World>,
}

impl Conn {
    /// An error says how the connection ends.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), How> {
        let (mut rest, kind) = (bytes, self.kind);
        while !rest.is_empty() {
            let now = self.world.now();
            let drip = {
                let mut state = self.world.state();
                let is_slow = state.faults.slow > now;
                is_slow.then(|| (state.random(kind).between(1, 400), state.random(kind).below(300)))
            };
            let mut part = rest.len();
            if let Some((size, wait)) = drip {
                part = part.min(size as usize);
                sleep(Duration::from_millis(wait)).await;
            }
            if let Some((how, left)) = &mut self.cut {
                if part as u64 >= *left {
                    self.world.count("cuts");
                    let (how, end) = (*how, *left as usize);
                    let _ = self.io.write_all(&rest[..end]).await;
                    return Err(how);
                }
                *left -= part as u64;
            }
            self.io.write_all(&rest[..part]).await.map_err(|_| How::HalfClose)?;
            rest = &rest[part..];
        }
        Ok(())
    }

    async fn end(mut self, how: How) {
        match how {
            How::HalfClose => {}
            How::Reset => self.is_reset.store(true, Ordering::Relaxed),
            How::Stall => while matches!(self.io.read(&mut [0; 1024]).await, Ok(1..)) {},
        }
    }
}

/// The client's end: an end of file may be a reset.
struct Cable {
    io: DuplexStream,
    is_reset: Arc<AtomicBool>,
}

impl AsyncRead for Cable {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, buf);
        match polled {
            Poll::Ready(Ok(())) if buf.filled().len() == before && self.is_reset.load(Ordering::Relaxed) => {
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Cable {
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
