//! TLS: who is let in, and what becomes of those who are not.

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

/// An authority, and what it has certified.
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
        Self(CertifiedIssuer::self_signed(params, key).expect("it certifies itself"))
    }

    fn certify(&self, name: &str) -> Certified {
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let cert = params.signed_by(&key, &self.0).expect("it certifies");
        Certified { cert: cert.pem(), key: key.serialize_pem() }
    }

    /// Files with a new certificate of `localhost`.
    fn files(&self, folder: &Path) -> TlsFiles {
        let files = TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem"), client_ca: None };
        let Certified { cert, key } = self.certify("localhost");
        std::fs::write(&files.cert, cert).expect("the folder is ours");
        std::fs::write(&files.key, key).expect("the folder is ours");
        files
    }

    /// How somebody connects who trusts this authority.
    fn client(&self, own: Option<&Certified>, alpn: &[&str]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("a root");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("ring has suites");
        let builder = builder.with_root_certificates(roots);
        let mut config = match own {
            Some(Certified { cert, key }) => {
                let cert = CertificateDer::from_pem_slice(cert.as_bytes()).expect("a certificate");
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
                builder.with_client_auth_cert(vec![cert], key).expect("they match")
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }
}

/// A server that speaks TLS.
async fn start(bounds: Bounds, files: TlsFiles) -> (Server, Arc<Tls>) {
    let tls = Arc::new(Tls::load(files).expect("the files are good"));
    let kept = Arc::clone(&tls);
    (Server::start_on(bounds, |listener| Listener::Tls(listener, kept)).await, tls)
}

async fn connect(connector: &TlsConnector, io: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
    connector.connect(ServerName::try_from("localhost").expect("a name"), io).await
}

/// Whether a call is answered. In TLS 1.3 the server may turn a client away that thinks it is connected.
async fn calls(connector: &TlsConnector, io: TcpStream) -> std::io::Result<()> {
    let tls = connect(connector, io).await?;
    let (sender, connection) = h2::client::handshake(tls).await.map_err(std::io::Error::other)?;
    tokio::spawn(connection);
    let mut sender = sender.ready().await.map_err(std::io::Error::other)?;
    let request = request("/boardwire.v1.CatalogService/ListGames").body(()).expect("a request");
    let (response, mut sending) = sender.send_request(request, false).map_err(std::io::Error::other)?;
    // Who is turned away may be so in the middle of it.
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
        calls(&client, server.tcp().await).await.unwrap_or_else(|error| panic!("{alpn:?}: {error}"));
    }
    let http_1 = authority.client(None, &["http/1.1"]);
    connect(&http_1, server.tcp().await).await.expect_err("nothing but HTTP/2 is spoken");
    let stranger = Authority::new().client(None, &["h2"]);
    connect(&stranger, server.tcp().await).await.expect_err("it trusts somebody else");
    server.stop().await;
}

#[tokio::test]
async fn only_those_are_let_in_who_are_certified_if_that_is_asked_for() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let clients = Authority::new();
    let mut files = authority.files(folder.path());
    files.client_ca = Some(folder.path().join("ca.pem"));
    std::fs::write(folder.path().join("ca.pem"), clients.0.pem()).expect("the folder is ours");
    let (server, _) = start(Bounds::default(), files).await;
    let known = authority.client(Some(&clients.certify("trainer")), &["h2"]);
    calls(&known, server.tcp().await).await.expect("it is certified");
    let unknown = authority.client(Some(&authority.certify("trainer")), &["h2"]);
    calls(&unknown, server.tcp().await).await.expect_err("somebody else has certified it");
    let nobody = authority.client(None, &["h2"]);
    let refused = calls(&nobody, server.tcp().await).await.expect_err("nobody has certified it");
    assert!(refused.to_string().contains("CertificateRequired"), "{refused}");
    server.stop().await;
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_given_up_and_delays_nobody() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let bounds =
        Bounds { handshake_timeout: Duration::from_millis(300), connections: 44, ..Bounds::default() };
    let (server, _) = start(bounds, authority.files(folder.path())).await;
    let mut crowd = vec![];
    for silent in [true, false].repeat(15) {
        let mut io = server.tcp().await;
        if !silent {
            // The head of a greeting that is said to have 512 bytes.
            io.write_all(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await.expect("it is open");
        }
        crowd.push(io);
    }
    let client = authority.client(None, &["h2"]);
    // The time-out counts on after the handshake until HTTP/2 begins.
    let mut mute = connect(&client, server.tcp().await).await.expect("it is trusted");
    calls(&client, server.tcp().await).await.expect("it waits for nobody");
    for mut io in crowd {
        connections::closed(&mut io).await;
    }
    let mut rest = vec![];
    let closed = tokio::time::timeout(Duration::from_mins(1), mute.read_to_end(&mut rest)).await;
    let _ = closed.expect("it is closed");
    server.stop().await;
}

#[tokio::test]
async fn who_does_not_speak_tls_is_closed_at_once() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let (server, _) = start(Bounds::default(), authority.files(folder.path())).await;
    for words in ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "nonsense"] {
        let mut io = server.tcp().await;
        io.write_all(words.as_bytes()).await.expect("it is open");
        connections::closed(&mut io).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn stopping_does_not_wait_for_handshakes() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let (server, _) = start(patient(), authority.files(folder.path())).await;
    let silent = server.tcp().await;
    let client = authority.client(None, &["h2"]);
    calls(&client, server.tcp().await).await.expect("it is served");
    server.stop().await;
    drop(silent);
}

#[tokio::test]
async fn connections_are_served_with_what_was_read_last() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    let (server, tls) = start(Bounds::default(), authority.files(folder.path())).await;
    let client = authority.client(None, &["h2"]);
    let open = connect(&client, server.tcp().await).await.expect("it is trusted");
    let other = Authority::new();
    other.files(folder.path());
    tls.reload().expect("the files are good");
    connect(&client, server.tcp().await).await.expect_err("somebody else has certified it now");
    calls(&other.client(None, &["h2"]), server.tcp().await).await.expect("it is trusted");
    let (sender, connection) = h2::client::handshake(open).await.expect("it is open");
    tokio::spawn(connection);
    let answer = Raw(sender).call("/boardwire.v1.CatalogService/ListGames", b"").await;
    assert_eq!(answer.headers["grpc-status"], "0", "who has connected before goes on");
    server.stop().await;
}

/// The binary, with TLS.
fn binary(folder: &TempDir, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_boardwire"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// What it says when it ends: its exit code and its errors.
fn ended(process: Child) -> (Option<i32>, String) {
    let output = process.wait_with_output().expect("it ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test]
async fn the_binary_reads_certificates_again_on_sighup() {
    let (folder, authority) = (tempfile::tempdir().expect("a folder"), Authority::new());
    authority.files(folder.path());
    let mut process = binary(&folder, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let mut line = String::new();
    let mut said = BufReader::new(process.stdout.take().expect("it is piped"));
    said.read_line(&mut line).expect("it says where");
    let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
    let client = authority.client(None, &["h2"]);
    let tcp = async || TcpStream::connect(&address).await.expect("it listens");
    calls(&client, tcp().await).await.expect("it is served");
    let hang_up = || {
        let kill = Command::new("kill").args(["-HUP", &process.id().to_string()]).status();
        assert!(kill.expect("there is such a command").success());
    };
    let other = Authority::new();
    other.files(folder.path());
    hang_up();
    let renewed = other.client(None, &["h2"]);
    until(async || calls(&renewed, tcp().await).await.is_ok()).await;
    std::fs::write(folder.path().join("key.pem"), "").expect("the folder is ours");
    hang_up();
    let mut log = BufReader::new(process.stderr.take().expect("it is piped")).lines();
    let told = log.find(|line| line.as_ref().is_ok_and(|line| line.contains("stay as they were")));
    let told = told.expect("it is logged").expect("text");
    assert!(told.contains("ERROR") && told.contains("key.pem: no private key"), "{told}");
    calls(&renewed, tcp().await).await.expect("what was good is kept");
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}

#[test]
fn what_cannot_be_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, missing) in [
        (["--tls-cert", "cert.pem"], "--tls-key"),
        (["--tls-key", "key.pem"], "--tls-cert"),
        (["--tls-client-ca", "ca.pem"], "--tls-cert"),
        (["--listen", "0.0.0.0:0"], "--insecure"),
    ] {
        let (code, said) = ended(binary(&folder, &arguments));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains(missing), "{said}");
    }
    let (code, said) = ended(binary(&folder, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("TLS certificate cert.pem: No such file"), "{said}");
}

#[test]
fn all_may_connect_if_that_is_asked_for_or_tls_is_spoken() {
    let folder = tempfile::tempdir().expect("a folder");
    Authority::new().files(folder.path());
    for arguments in [&["--insecure"][..], &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]] {
        let mut process = binary(&folder, &[&["--listen", "0.0.0.0:0"], arguments].concat());
        let mut said = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let told = said.by_ref().nth(1).expect("it says where").expect("text");
        assert!(told.starts_with("listening on 0.0.0.0:"), "{told}");
        process.kill().expect("it runs");
        process.wait().expect("it ended");
    }
}
