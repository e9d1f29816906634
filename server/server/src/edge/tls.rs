//! TLS on TCP listeners, with certificates for the server and optionally for clients.
//!
//! Each new connection uses the certificates from the last read of the files. The server supports only TLS 1.3, which every
//! gRPC library supports.

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
use crate::operator_files;
use crate::origin::Origin;

/// HTTP/2, the only protocol that the server negotiates.
const ALPN: &[u8] = b"h2";

/// The PEM files with certificates and keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, followed by its chain.
    pub cert: PathBuf,
    /// The certificate's private key, unencrypted.
    pub key: PathBuf,
    /// The root certificates of the clients' certificate chains. If `None`, clients need no certificate.
    pub client_ca: Option<PathBuf>,
}

/// The TLS files and the configuration read from them.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// A file is missing or malformed, the key does not match the certificate, or the certificate is not valid now.
    pub fn load(files: TlsFiles) -> Result<Self, String> {
        let current = RwLock::new(Arc::new(files.read()?));
        Ok(Self { files, current })
    }

    /// Reads the files again, for new connections.
    ///
    /// # Errors
    /// As [`Self::load`]. In this case the configuration does not change.
    pub fn reload(&self) -> Result<(), String> {
        let config = Arc::new(self.files.read()?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl TlsFiles {
    fn read(&self) -> Result<ServerConfig, String> {
        let provider = Arc::new(ring::default_provider());
        let (verifier, key) = (self.client_verifier(&provider)?, self.certified_key(&provider)?);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .expect("ring has suites for TLS 1.3")
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(config)
    }

    fn certified_key(&self, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
        let chain = certificates("TLS certificate", &self.cert)?;
        let about = |problem| operator_files::file_error("TLS key", &self.key, problem);
        let pem = operator_files::read_file(&self.key).map_err(|error| about(error.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| match error {
            PemError::NoItemsFound => about("no private key in PEM, or an encrypted one".to_owned()),
            error => about(format!("malformed PEM: {error}")),
        })?;
        check_validity(&chain[0])
            .map_err(|problem| operator_files::file_error("TLS certificate", &self.cert, problem))?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
            Error::InconsistentKeys(_) => about(format!("not the key of {}", self.cert.display())),
            error => about(format!("unusable key: {error}")),
        })
    }

    fn client_verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let Some(file) = &self.client_ca else { return Ok(WebPkiClientVerifier::no_client_auth()) };
        let kind = "client CA certificate";
        let mut roots = RootCertStore::empty();
        let unusable =
            |error| operator_files::file_error(kind, file, format!("unusable certificate: {error}"));
        for root in certificates(kind, file)? {
            roots.add(root).map_err(unusable)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        Ok(verifier.build().expect("there are roots and no revocation lists"))
    }
}

/// Refuses a certificate that has expired or is not valid yet.
fn check_validity(certificate: &CertificateDer<'_>) -> Result<(), String> {
    let parsed = EndEntityCert::try_from(certificate).map_err(|error| error.to_string())?;
    let (algorithms, usage) = (webpki::ALL_VERIFICATION_ALGS, KeyUsage::server_auth());
    // Always fails without a root, but checks the dates first.
    match parsed.verify_for_usage(algorithms, &[], &[], UnixTime::now(), usage, None, None) {
        Err(webpki::Error::CertExpired { not_after, .. }) => {
            Err(format!("it expired at Unix time {}: renew it", not_after.as_secs()))
        }
        Err(webpki::Error::CertNotValidYet { not_before: from, .. }) => {
            Err(format!("it is not valid before Unix time {}: is the clock right?", from.as_secs()))
        }
        _ => Ok(()),
    }
}

/// Reads the certificates in a file: at least one.
fn certificates(kind: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let about = |problem| operator_files::file_error(kind, file, problem);
    let pem = operator_files::read_file(file).map_err(|error| about(error.to_string()))?;
    let mut certificates = vec![];
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| about(format!("malformed PEM: {error}")))?;
        ParsedCertificate::try_from(&certificate)
            .map_err(|error| about(format!("malformed certificate: {error}")))?;
        certificates.push(certificate);
    }
    if certificates.is_empty() {
        return Err(about("no certificate in PEM".to_owned()));
    }
    Ok(certificates)
}

pub(crate) struct TlsListener {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Arc<Tls>,
}

impl Accept for TlsListener {
    type Io = (TcpStream, TlsAcceptor);

    async fn accept(&self) -> io::Result<(Self::Io, Origin)> {
        let (io, origin) = Accept::accept(&self.listener).await?;
        Ok(((io, self.tls.acceptor()), origin))
    }
}

/// A connection before the TLS handshake.
impl Accepted for (TcpStream, TlsAcceptor) {
    type Io = TlsStream<TcpStream>;

    fn tcp(&mut self) -> Option<&mut TcpStream> {
        Some(&mut self.0)
    }

    async fn handshake(self) -> io::Result<Self::Io> {
        self.1.accept(self.0).await
    }
}

#[cfg(test)]
mod tests;
