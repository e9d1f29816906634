//! Tests TLS: certificates of servers and clients, handshakes, reloading.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use boardwire_server::edge::{Tls, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
struct Certified {
    cert: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("the authority signs its own certificate"))
    }

    fn certify(&self, name: &str) -> Certified {
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let cert = params.signed_by(&key, &self.0).expect("the authority signs the certificate");
        Certified { cert: cert.pem(), key: key.serialize_pem() }
    }

    /// Writes a new certificate of `localhost` to files.
    fn files(&self, folder: &Path) -> TlsFiles {
        let files = TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem"), client_ca: None };
        let Certified { cert, key } = self.certify("localhost");
        std::fs::write(&files.cert, cert).expect("the folder is ours");
        std::fs::write(&files.key, key).expect("the folder is ours");
        files
    }

    /// Returns a connector that trusts this authority.
    fn client(&self, certificate: Option<&Certified>, alpn: &[&str]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("a root");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("ring has suites");
        let builder = builder.with_root_certificates(roots);
        let mut config = match certificate {
            Some(Certified { cert, key }) => {
                let cert = CertificateDer::from_pem_slice(cert.as_bytes()).expect("a certificate");
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
                builder.with_client_auth_cert(vec![cert], key).expect("the certificate and the key match")
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }
}

/// Starts a server with TLS.
async fn start(bounds: Bounds, files: TlsFiles) -> (EdgeServer, Arc<Tls>) {
    let tls = Arc::new(Tls::load(files).expect("the files are good"));
    let listener_tls = Arc::clone(&tls);
    (EdgeServer::start_on(bounds, |listener| Listener::Tls(listener, listener_tls)).await, tls)
}

async fn connect(connector: &TlsConnector, io: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
    connector.connect(ServerName::try_from("localhost").expect("a name"), io).await
}

/// Makes a call. In TLS 1.3 the server may refuse a client after the client has finished its handshake.
async fn call(connector: &TlsConnector, io: TcpStream) -> std::io::Result<()> {
    let tls = connect(connector, io).await?;
    let (sender, connection) = h2::client::handshake(tls).await.map_err(std::io::Error::other)?;
    tokio::spawn(connection);
    let mut sender = sender.ready().await.map_err(std::io::Error::other)?;
    let request = request("/boardwire.v1.CatalogService/ListGames").body(()).expect("a request");
    let (response, mut sending) = sender.send_request(request, false).map_err(std::io::Error::other)?;
    // The server may refuse the client while the client sends.
    let _ = sending.send_data(framed(0, b""), true);
    let response = response.await.map_err(std::io::Error::other)?;
    assert_eq!(response.status(), StatusCode::OK);
    Ok(())
}

#[tokio::test]
async fn calls_are_answered_over_tls() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let (server, _) = start(Bounds::default(), authority.files(folder.path())).await;
    for alpn in [&["h2"][..], &["http/1.1", "h2"], &[]] {
        let client = authority.client(None, alpn);
        call(&client, server.tcp().await).await.unwrap_or_else(|error| panic!("{alpn:?}: {error}"));
    }
    let http_1 = authority.client(None, &["http/1.1"]);
    connect(&http_1, server.tcp().await).await.expect_err("nothing but HTTP/2 is spoken");
    let other = Authority::new().client(None, &["h2"]);
    connect(&other, server.tcp().await).await.expect_err("the client trusts another authority");
    server.stop().await;
}

#[tokio::test]
async fn a_client_ca_requires_client_certificates() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let clients = Authority::new();
    let mut files = authority.files(folder.path());
    files.client_ca = Some(folder.path().join("ca.pem"));
    std::fs::write(folder.path().join("ca.pem"), clients.0.pem()).expect("the folder is ours");
    let (server, _) = start(Bounds::default(), files).await;
    let certified = authority.client(Some(&clients.certify("trainer")), &["h2"]);
    call(&certified, server.tcp().await).await.expect("the client is certified");
    let unknown = authority.client(Some(&authority.certify("trainer")), &["h2"]);
    call(&unknown, server.tcp().await).await.expect_err("another authority has certified the client");
    let uncertified = authority.client(None, &["h2"]);
    let refused = call(&uncertified, server.tcp().await).await.expect_err("the client has no certificate");
    assert!(refused.to_string().contains("CertificateRequired"), "{refused}");
    server.stop().await;
}

#[tokio::test]
async fn an_unfinished_handshake_times_out_and_delays_no_other() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let bounds =
        Bounds { handshake_timeout: Duration::from_millis(300), connections: 44, ..Bounds::default() };
    let (server, _) = start(bounds, authority.files(folder.path())).await;
    let mut crowd = vec![];
    for silent in [true, false].repeat(15) {
        let mut io = server.tcp().await;
        if !silent {
            // The start of a ClientHello of 512 bytes.
            io.write_all(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await.expect("the connection is open");
        }
        crowd.push(io);
    }
    let client = authority.client(None, &["h2"]);
    // The timeout also covers the time between the handshake and HTTP/2.
    let mut mute = connect(&client, server.tcp().await).await.expect("the server is trusted");
    call(&client, server.tcp().await).await.expect("other handshakes do not delay the call");
    for mut io in crowd {
        connections::closed(&mut io).await;
    }
    let mut rest = vec![];
    let closed = tokio::time::timeout(Duration::from_mins(1), mute.read_to_end(&mut rest)).await;
    let _ = closed.expect("the connection is closed");
    server.stop().await;
}

#[tokio::test]
async fn a_connection_without_tls_is_closed_at_once() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let (server, _) = start(Bounds::default(), authority.files(folder.path())).await;
    for text in ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "nonsense"] {
        let mut io = server.tcp().await;
        io.write_all(text.as_bytes()).await.expect("the connection is open");
        connections::closed(&mut io).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn stopping_does_not_wait_for_handshakes() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let (server, _) = start(long_drain(), authority.files(folder.path())).await;
    let silent = server.tcp().await;
    let client = authority.client(None, &["h2"]);
    call(&client, server.tcp().await).await.expect("the call is served");
    server.stop().await;
    drop(silent);
}

#[tokio::test]
async fn new_connections_use_reloaded_certificates() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let (server, tls) = start(Bounds::default(), authority.files(folder.path())).await;
    let client = authority.client(None, &["h2"]);
    let open = connect(&client, server.tcp().await).await.expect("the server is trusted");
    let other = Authority::new();
    other.files(folder.path());
    tls.reload().expect("the files are good");
    connect(&client, server.tcp().await).await.expect_err("another authority has certified the server now");
    call(&other.client(None, &["h2"]), server.tcp().await).await.expect("the server is trusted");
    let (sender, connection) = h2::client::handshake(open).await.expect("the connection is open");
    tokio::spawn(connection);
    let answer = RawClient(sender).call("/boardwire.v1.CatalogService/ListGames", b"").await;
    assert_eq!(answer.headers["grpc-status"], "0", "an older connection continues");
    server.stop().await;
}

/// Starts the binary in `folder`, on a free port, with these arguments.
fn binary(folder: &TempDir, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_boardwire"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits for a process. Returns its exit code and its stderr.
fn ended(process: Child) -> (Option<i32>, String) {
    let output = process.wait_with_output().expect("the process ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn the_binary_reloads_certificates_on_sighup() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    authority.files(folder.path());
    let mut process = binary(&folder, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let mut line = String::new();
    let mut stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
    stdout.read_line(&mut line).expect("the server prints its address");
    let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
    let client = authority.client(None, &["h2"]);
    let tcp = async || TcpStream::connect(&address).await.expect("the server listens");
    call(&client, tcp().await).await.expect("the call is served");
    let hang_up = || {
        let kill = Command::new("kill").args(["-HUP", &process.id().to_string()]).status();
        assert!(kill.expect("there is such a command").success());
    };
    let other = Authority::new();
    other.files(folder.path());
    hang_up();
    let renewed = other.client(None, &["h2"]);
    wait_until(async || call(&renewed, tcp().await).await.is_ok()).await;
    std::fs::write(folder.path().join("key.pem"), "").expect("the folder is ours");
    hang_up();
    let mut log = BufReader::new(process.stderr.take().expect("stderr is piped")).lines();
    let line = log.find(|line| line.as_ref().is_ok_and(|line| line.contains("stay in use")));
    let line = line.expect("the error is logged").expect("text");
    assert!(line.contains("ERROR") && line.contains("key.pem: no private key"), "{line}");
    call(&renewed, tcp().await).await.expect("the valid certificate is kept");
    process.kill().expect("the server runs");
    process.wait().expect("the server has ended");
}

#[test]
fn invalid_flags_and_missing_files_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, missing) in [
        (["--tls-cert", "cert.pem"], "--tls-key"),
        (["--tls-key", "key.pem"], "--tls-cert"),
        (["--tls-client-ca", "ca.pem"], "--tls-cert"),
        (["--listen", "0.0.0.0:0"], "--insecure"),
    ] {
        let (code, stderr) = ended(binary(&folder, &arguments));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(missing), "{stderr}");
    }
    let (code, stderr) = ended(binary(&folder, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("TLS certificate cert.pem: No such file"), "{stderr}");
}

#[test]
fn other_machines_may_connect_with_tls_or_insecure() {
    let folder = tempfile::tempdir().expect("a folder");
    Authority::new().files(folder.path());
    for arguments in [&["--insecure"][..], &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]] {
        let mut process = binary(&folder, &[&["--listen", "0.0.0.0:0"], arguments].concat());
        let mut stdout = BufReader::new(process.stdout.take().expect("stdout is piped")).lines();
        let line = stdout.by_ref().nth(1).expect("the server prints two addresses").expect("text");
        assert!(line.starts_with("listening on 0.0.0.0:"), "{line}");
        process.kill().expect("the server runs");
        process.wait().expect("the server has ended");
    }
}
