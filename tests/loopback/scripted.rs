//! A server on loopback that answers by a script, byte for byte, and remembers what it was asked. It knows nothing of HTTP but
//! the blank line that ends a request.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What happens to the connection after the bytes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Keep,
    Close,
    Reset,
    /// Nothing more is sent, and nothing closed.
    Hold,
}

#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub bytes: Vec<u8>,
    pub action: Then,
    pub delay: Duration,
}

/// An answer with a body of JSON.
pub(crate) fn json(status: u16, headers: &str, body: &str) -> Reply {
    content(status, &format!("content-type: application/json\r\n{headers}"), body.as_bytes())
}

pub(crate) fn content(status: u16, headers: &str, body: &[u8]) -> Reply {
    let mut bytes = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    Reply { bytes, action: Then::Keep, delay: Duration::ZERO }
}

pub(crate) fn raw(bytes: &str, action: Then) -> Reply {
    Reply { bytes: bytes.as_bytes().to_vec(), action, delay: Duration::ZERO }
}

impl Reply {
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// One received request.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub head: String,
}

impl Seen {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        pairs.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

#[derive(Default)]
struct State {
    script: Mutex<Vec<Reply>>,
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    under_way: AtomicUsize,
    peak: AtomicUsize,
}

pub(crate) struct Server {
    pub port: u16,
    state: Arc<State>,
}

impl Server {
    /// Answers the first request with the first reply, and so on; the last reply answers all that come after.
    pub(crate) async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { script: Mutex::new(script), ..State::default() });
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                shared.connections.fetch_add(1, SeqCst);
                tokio::spawn(serve(socket, shared.clone()));
            }
        });
        Server { port, state }
    }
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(SeqCst)
    }
    /// The most requests that were under way at once.
    pub(crate) fn peak(&self) -> usize {
        self.state.peak.load(SeqCst)
    }
}

async fn serve(mut socket: TcpStream, state: Arc<State>) {
    while let Some(head) = read_head(&mut socket).await {
        let now = state.under_way.fetch_add(1, SeqCst) + 1;
        state.peak.fetch_max(now, SeqCst);
        state.seen.lock().unwrap().push(Seen { head });
        let reply = {
            let mut script = state.script.lock().unwrap();
            if script.len() > 1 { script.remove(0) } else { script[0].clone() }
        };
        tokio::time::sleep(reply.delay).await;
        state.under_way.fetch_sub(1, SeqCst);
        socket.write_all(&reply.bytes).await.ok();
        socket.flush().await.ok();
        match reply.action {
            Then::Keep => {}
            Then::Close => return,
            Then::Reset => {
                // What was written must be on its way before the reset throws it away.
                tokio::time::sleep(Duration::from_millis(20)).await;
                socket2::SockRef::from(&socket).set_linger(Some(Duration::ZERO)).unwrap();
                return;
            }
            Then::Hold => std::future::pending().await,
        }
    }
}

/// Up to the blank line. A GET has no body.
async fn read_head(socket: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}
