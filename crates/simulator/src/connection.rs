//! Connections that fail at an exact byte: they cut a response, or send a [`RawResponse`] instead. Failing the
//! body stream would not cut at an exact byte, because hyper buffers; here, below hyper, each byte to the socket is
//! counted.

use super::raw_response::{ConnectionEnd, RawResponse};
use super::service::lock;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use socket2::SockRef;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;

/// A reset discards what the kernel has not delivered yet; the reader gets this long to take it.
const RESET_GRACE: Duration = Duration::from_millis(50);

/// Number of writes per second of a slow connection.
const WRITES_PER_SECOND: u32 = 50;

/// Where to cut a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    /// Bytes of the body that may still pass.
    left: usize,
    reset: bool,
    /// How much of the blank line after the head has passed; 4 is all of it.
    blank_line: usize,
}

impl Cut {
    /// Cut after `bytes` of the body, by FIN or RST.
    pub(super) fn after(bytes: usize, reset: bool) -> Self {
        Cut { left: bytes, reset, blank_line: 0 }
    }
    /// Whether to end before the next byte.
    pub(super) fn now(reset: bool) -> Self {
        Cut { left: 0, reset, blank_line: BLANK_LINE.len() }
    }
    /// How many of the next bytes may pass.
    fn may_pass(&self, bytes: &[u8]) -> usize {
        let (_, head) = blank_line(self.blank_line, bytes);
        head + self.left.min(bytes.len() - head)
    }
    fn count_sent(&mut self, bytes: &[u8]) {
        let (blank_bytes, head) = blank_line(self.blank_line, bytes);
        self.blank_line = blank_bytes;
        self.left = self.left.saturating_sub(bytes.len() - head);
    }
    fn is_reached(&self) -> bool {
        self.left == 0 && self.blank_line == BLANK_LINE.len()
    }
}

const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// Continues to look for the blank line after `blank_bytes` bytes of it; returns their new number and the number of head
/// bytes.
fn blank_line(mut blank_bytes: usize, bytes: &[u8]) -> (usize, usize) {
    let mut head = 0;
    while blank_bytes < BLANK_LINE.len() && head < bytes.len() {
        let byte = bytes[head];
        blank_bytes = if byte == BLANK_LINE[blank_bytes] { blank_bytes + 1 } else { usize::from(byte == b'\r') };
        head += 1;
    }
    (blank_bytes, head)
}

/// With this a request handler makes the connection of its request fail.
#[derive(Debug, Clone, Default)]
pub(super) struct CutSwitch {
    cut: Arc<Mutex<Option<Cut>>>,
    script: Arc<Mutex<Option<RawResponse>>>,
    /// Bytes per second; 0 is unlimited.
    pace: Arc<AtomicU32>,
}

impl CutSwitch {
    /// Cuts the next response of this connection, which serves one request at a time.
    pub(super) fn arm(&self, cut: Cut) {
        *lock(&self.cut) = Some(cut);
    }
    /// Replaces the next response, which must have no body, by raw bytes.
    pub(super) fn play(&self, script: RawResponse) {
        *lock(&self.script) = Some(script);
    }
    /// Limits the speed of the connection from now on; 0 is unlimited.
    pub(super) fn slow_down(&self, bytes_per_second: u32) {
        self.pace.store(bytes_per_second, Ordering::Release);
    }
}

impl Connected<IncomingStream<'_, Loopback>> for CutSwitch {
    fn connect_info(stream: IncomingStream<'_, Loopback>) -> Self {
        stream.io().cut.clone()
    }
}

/// Accepts [`FaultyConnection`]s.
#[derive(Debug)]
pub(super) struct Loopback(pub(super) TcpListener);

impl Listener for Loopback {
    type Io = FaultyConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (FaultyConnection, SocketAddr) {
        let (tcp, peer) = Listener::accept(&mut self.0).await;
        // Responses take one or two writes; without this the second waits for an acknowledgement. Errors only cost
        // time.
        let _ = tcp.set_nodelay(true);
        let connection = FaultyConnection {
            tcp,
            cut: CutSwitch::default(),
            playing: None,
            stale: None,
            before_reset: None,
            resting: None,
        };
        (connection, peer)
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

#[derive(Debug)]
pub(super) struct FaultyConnection {
    tcp: TcpStream,
    cut: CutSwitch,
    playing: Option<Playing>,
    /// Set to close on the next request; the value says whether by RST.
    stale: Option<bool>,
    before_reset: Option<Pin<Box<Sleep>>>,
    /// When the next bytes may be sent, if limited.
    resting: Option<Pin<Box<Sleep>>>,
}

/// A raw response, the bytes sent, and the matched part of the blank line in the discarded response.
#[derive(Debug)]
struct Playing {
    script: RawResponse,
    bytes_sent: usize,
    blank_line: usize,
}

impl FaultyConnection {
    /// Sends the raw response, then discards the response that hyper writes.
    fn poll_play(&mut self, mut playing: Playing, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        while playing.bytes_sent < playing.script.bytes.len() {
            match self.poll_send(cx, &playing.script.bytes[playing.bytes_sent..]) {
                Poll::Ready(written) => playing.bytes_sent += written?,
                Poll::Pending => {
                    self.playing = Some(playing);
                    return Poll::Pending;
                }
            }
        }
        if let ConnectionEnd::Closed { reset } = playing.script.end {
            let end = self.poll_end(reset, playing.bytes_sent > 0, cx);
            self.playing = Some(playing);
            return end.map(Err);
        }
        let (blank_line, head) = blank_line(playing.blank_line, bytes);
        playing.blank_line = blank_line;
        match playing.script.end {
            _ if blank_line < BLANK_LINE.len() => self.playing = Some(playing),
            ConnectionEnd::Stale { reset } => self.stale = Some(reset),
            ConnectionEnd::Open | ConnectionEnd::Closed { .. } => {}
        }
        Poll::Ready(Ok(head))
    }
    /// Writes within the speed limit.
    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let pace = self.cut.pace.load(Ordering::Acquire);
        if pace == 0 {
            return Pin::new(&mut self.tcp).poll_write(cx, bytes);
        }
        if let Some(resting) = &mut self.resting {
            ready!(resting.as_mut().poll(cx));
            self.resting = None;
        }
        let length = bytes.len().min((pace / WRITES_PER_SECOND).max(1) as usize);
        let written = ready!(Pin::new(&mut self.tcp).poll_write(cx, &bytes[..length]))?;
        let rest = Duration::from_secs_f64(written as f64 / f64::from(pace));
        self.resting = Some(Box::pin(tokio::time::sleep(rest)));
        Poll::Ready(Ok(written))
    }
    /// Ends the connection, then fails, so that hyper drops it.
    fn poll_end(&mut self, reset: bool, was_sent: bool, cx: &mut Context<'_>) -> Poll<io::Error> {
        if !reset {
            let _ = ready!(Pin::new(&mut self.tcp).poll_shutdown(cx));
        } else {
            if was_sent {
                let wait = self.before_reset.get_or_insert_with(|| Box::pin(tokio::time::sleep(RESET_GRACE)));
                ready!(wait.as_mut().poll(cx));
            }
            self.reset_when_dropped();
        }
        Poll::Ready(io::ErrorKind::ConnectionAborted.into())
    }
    /// Closing a socket with linger 0 resets it.
    fn reset_when_dropped(&self) {
        let _ = SockRef::from(&self.tcp).set_linger(Some(Duration::ZERO));
    }
}

impl AsyncWrite for FaultyConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.playing.is_none() {
            let script = lock(&self.cut.script).take();
            self.playing = script.map(|script| Playing { script, bytes_sent: 0, blank_line: 0 });
        }
        if let Some(playing) = self.playing.take() {
            return self.poll_play(playing, cx, bytes);
        }
        let switched_cut = lock(&self.cut.cut).clone();
        let Some(mut cut) = switched_cut else { return self.poll_send(cx, bytes) };
        let length = cut.may_pass(bytes);
        if length == 0 && !bytes.is_empty() {
            return self.poll_end(cut.reset, true, cx).map(Err);
        }
        let written = ready!(self.poll_send(cx, &bytes[..length]))?;
        cut.count_sent(&bytes[..written]);
        self.cut.arm(cut);
        Poll::Ready(Ok(written))
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let is_untouched = self.playing.is_none() && lock(&self.cut.script).is_none() && lock(&self.cut.cut).is_none();
        if is_untouched && self.cut.pace.load(Ordering::Acquire) == 0 {
            return Pin::new(&mut self.tcp).poll_write_vectored(cx, slices);
        }
        let first = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| slice);
        self.poll_write(cx, first)
    }
    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A response that is cut after its last byte is fully written and then only flushed.
        let reached_cut = lock(&self.cut.cut).clone().filter(Cut::is_reached);
        match reached_cut {
            Some(cut) => self.poll_end(cut.reset, true, cx).map(Err),
            None => Pin::new(&mut self.tcp).poll_flush(cx),
        }
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.stale == Some(true) {
            // The client would see an orderly end before the reset.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

impl AsyncRead for FaultyConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Some(reset) = self.stale else { return Pin::new(&mut self.tcp).poll_read(cx, buffer) };
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.tcp).poll_read(cx, buffer))?;
        // To hyper this looks like a client that closed.
        buffer.set_filled(before);
        if reset {
            self.reset_when_dropped();
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes `chunks` through a cut, as to a socket that takes everything.
    fn through(mut cut: Cut, chunks: &[&[u8]]) -> Vec<u8> {
        let mut received_bytes = Vec::new();
        for chunk in chunks {
            let length = cut.may_pass(chunk);
            cut.count_sent(&chunk[..length]);
            received_bytes.extend_from_slice(&chunk[..length]);
            if length < chunk.len() {
                break;
            }
        }
        received_bytes
    }

    #[test]
    fn a_cut_lets_the_head_pass_and_counts_the_body_however_the_bytes_are_split() {
        // A line that ends in a blank carriage return, and a body that begins like the end of a head.
        let (head, body) = (b"HTTP/1.1 200 OK\r\nx:\r\r\n\r\n", b"\r\n\r\nbody");
        let response = [&head[..], &body[..]].concat();
        for at in 0..response.len() {
            let (start, rest) = response.split_at(at);
            assert_eq!(through(Cut::after(5, false), &[start, rest]), response[..head.len() + 5], "split at {at}");
        }
    }

    #[test]
    fn a_cut_after_the_last_byte_is_reached_by_the_whole_answer() {
        let mut cut = Cut::after(4, false);
        cut.count_sent(b"HTTP/1.1 200 OK\r\n\r\nbod");
        assert!(!cut.is_reached());
        cut.count_sent(b"y");
        assert!(cut.is_reached());
    }
}
