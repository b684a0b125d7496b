//! Certificates, against a TLS server on loopback. Its key and certificate (`tests/tls/`) serve this test alone, for a
//! hundred years; the key of their authority was thrown away.

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sideline::config::{ClientOptions, Secret};
use sideline::error::{Error, RequestErrorKind};
use sideline::operation::call;
use sideline::transport::{Response, Transport};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/authority.pem");

/// What a server does with a connection.
type Serve = fn(TcpStream);

/// Its port, and how many connections it took.
fn start(serve: Serve) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = connections.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            counter.fetch_add(1, SeqCst);
            std::thread::spawn(move || serve(socket));
        }
    });
    (port, connections)
}

fn answer_over_tls(socket: TcpStream) {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../tls/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), socket);
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            // A client that does not trust the certificate hangs up.
            _ => return,
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    stream.conn.send_close_notify();
    stream.flush().unwrap();
}

fn answer_in_plain_text(mut socket: TcpStream) {
    socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
    // Closing with the client's greeting unread would reset the connection and take the answer away.
    let _ = socket.read(&mut [0; 1024]);
}

async fn request_teams(port: u16, ca_bundle: Option<&str>) -> Result<Response, Error> {
    let options = ClientOptions {
        username: Some("ann".into()),
        secret: Some(Secret::new("secret")),
        base_url: Some(format!("https://127.0.0.1:{port}")),
        ca_bundle: ca_bundle.map(str::to_string),
        ..ClientOptions::default()
    };
    let config = options.resolve(&|_| None).unwrap();
    let request = call("teams", &Vec::new(), &config).unwrap().requests.remove(0);
    Transport::new(config).unwrap().send(&request).await
}

#[tokio::test]
async fn an_added_authority_is_trusted() {
    let (port, connections) = start(answer_over_tls);
    let response = request_teams(port, Some(AUTHORITY)).await.unwrap();
    assert_eq!((response.body.as_slice(), connections.load(SeqCst)), (b"{}".as_slice(), 1));
    // A folder of certificates is as good as a file of them.
    request_teams(port, Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls"))).await.unwrap();
}

/// Runs itself again with the variable: only a process of its own can have one.
#[tokio::test]
async fn the_authorities_of_ssl_cert_file_are_trusted() {
    if std::env::var_os("SSL_CERT_FILE").is_none_or(|file| file != AUTHORITY) {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let command = command.args(["--exact", "the_authorities_of_ssl_cert_file_are_trusted"]);
        let output = command.env("SSL_CERT_FILE", AUTHORITY).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let (port, _) = start(answer_over_tls);
    request_teams(port, None).await.unwrap();
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused_at_once() {
    let (port, connections) = start(answer_over_tls);
    // Another authority: so the platform may have none at all.
    let result = request_teams(port, Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/other.pem"))).await;
    let Err(Error::Request(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.kind, RequestErrorKind::Certificate);
    let text = Error::Request(error).to_string();
    assert!(text.contains("certificate") && text.contains("ca_bundle="), "{text}");
    assert_eq!(connections.load(SeqCst), 1);
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_refused_at_once() {
    let (port, connections) = start(answer_in_plain_text);
    let result = request_teams(port, Some(AUTHORITY)).await;
    let Err(Error::Request(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.kind, RequestErrorKind::Connect);
    let text = Error::Request(error).to_string();
    assert!(text.contains("the TLS handshake failed"), "{text}");
    assert_eq!(connections.load(SeqCst), 1);
}
