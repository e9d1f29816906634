//! TLS on TCP listeners: the server proves who it is and, if it asks for that, so do those who connect.
//!
//! Certificates are read from files, and may be renewed in them: a connection is served with what was read
//! last. TLS 1.3 is spoken and nothing older, since every gRPC library in use has it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{Error, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use webpki::{EndEntityCert, KeyUsage};

use super::accept::{Accept, Accepted};
use crate::origin::Origin;
use crate::secret;

/// What a connection must agree on: HTTP/2.
const ALPN: &[u8] = b"h2";

/// Where certificates are; all are PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, and after it those that lead to its root.
    pub cert: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
    /// The roots of the certificates that clients must have; without it they need none.
    pub client_ca: Option<PathBuf>,
}

/// What TLS is spoken with.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// One is missing, is not what it should be, or does not belong to the others.
    pub fn load(files: TlsFiles) -> Result<Self, String> {
        let current = RwLock::new(Arc::new(files.read()?));
        Ok(Self { files, current })
    }

    /// Reads the files again. Connections that are open go on as they are.
    ///
    /// # Errors
    /// As [`Self::load`]; what was read before is kept then.
    pub fn reload(&self) -> Result<(), String> {
        let read = Arc::new(self.files.read()?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl TlsFiles {
    fn read(&self) -> Result<ServerConfig, String> {
        let provider = Arc::new(ring::default_provider());
        let (clients, key) = (self.clients(&provider)?, self.key(&provider)?);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .expect("ring has suites for TLS 1.3")
            .with_client_cert_verifier(clients)
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(config)
    }

    /// The certificate and its key.
    fn key(&self, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
        let chain = certificates("TLS certificate", &self.cert)?;
        let about = |problem| secret::about_file("TLS key", &self.key, problem);
        let pem = secret::read_file(&self.key).map_err(|error| about(error.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| match error {
            PemError::NoItemsFound => about("no private key in PEM that is not encrypted".to_owned()),
            error => about(format!("garbled PEM: {error}")),
        })?;
        check_time(&chain[0])
            .map_err(|problem| secret::about_file("TLS certificate", &self.cert, problem))?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
            Error::InconsistentKeys(_) => about(format!("not the key of {}", self.cert.display())),
            error => about(format!("no key that can be used: {error}")),
        })
    }

    /// Who may connect.
    fn clients(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let Some(file) = &self.client_ca else { return Ok(WebPkiClientVerifier::no_client_auth()) };
        let what = "root of clients' TLS certificates";
        let mut roots = RootCertStore::empty();
        for root in certificates(what, file)? {
            let about =
                |error| secret::about_file(what, file, format!("a certificate cannot be used: {error}"));
            roots.add(root).map_err(about)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        Ok(verifier.build().expect("there are roots and no lists of what was revoked"))
    }
}

/// Refuses a certificate that no client would accept today.
fn check_time(certificate: &CertificateDer<'_>) -> Result<(), String> {
    let parsed = EndEntityCert::try_from(certificate).map_err(|error| error.to_string())?;
    // Without a root it is never found good, but its time is looked at first.
    let usage = KeyUsage::server_auth();
    match parsed.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &[], &[], UnixTime::now(), usage, None, None)
    {
        Err(webpki::Error::CertExpired { not_after, .. }) => {
            Err(format!("it expired at {} seconds since 1970: renew it", not_after.as_secs()))
        }
        Err(webpki::Error::CertNotValidYet { not_before, .. }) => Err(format!(
            "it is valid only from {} seconds since 1970: is the clock right?",
            not_before.as_secs()
        )),
        _ => Ok(()),
    }
}

/// The certificates in a file: at least one.
fn certificates(what: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let about = |problem| secret::about_file(what, file, problem);
    let pem = secret::read_file(file).map_err(|error| about(error.to_string()))?;
    let mut certificates = vec![];
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| about(format!("garbled PEM: {error}")))?;
        ParsedCertificate::try_from(&certificate)
            .map_err(|error| about(format!("garbled certificate: {error}")))?;
        certificates.push(certificate);
    }
    if certificates.is_empty() {
        return Err(about("no certificate in PEM".to_owned()));
    }
    Ok(certificates)
}

/// A TCP listener whose connections speak TLS.
pub(crate) struct TlsListener {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Arc<Tls>,
}

impl Accept for TlsListener {
    type Io = BeforeHandshake;

    async fn accept(&self) -> io::Result<(BeforeHandshake, Origin)> {
        let (io, origin) = Accept::accept(&self.listener).await?;
        Ok((BeforeHandshake { io, acceptor: self.tls.acceptor() }, origin))
    }
}

/// A connection before the handshake.
pub(crate) struct BeforeHandshake {
    io: TcpStream,
    acceptor: TlsAcceptor,
}

impl Accepted for BeforeHandshake {
    type Io = TlsStream<TcpStream>;

    fn tcp(&mut self) -> Option<&mut TcpStream> {
        Some(&mut self.io)
    }

    async fn open(self) -> io::Result<Self::Io> {
        self.acceptor.accept(self.io).await
    }
}

#[cfg(test)]
mod tests;
