//! TLS: which servers a client trusts, and how the client authenticates.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_rustls::rustls;
use tonic::transport::{ClientTlsConfig, Endpoint, Identity};
use webpki::{EndEntityCert, KeyUsage};

/// The name of a PEM in error messages (usually the path of its file), and its contents.
type Pem = (String, Vec<u8>);

/// The TLS settings of a connection.
#[pyclass(frozen, module = "boardwire._core")]
pub(crate) struct Tls {
    verifier: Arc<Verifier>,
    /// The client's certificates and their private key, as PEM.
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

#[pymethods]
impl Tls {
    /// Trusts the roots in `ca`, or the system's roots without it. Authenticates the client with `cert` and `key`.
    ///
    /// Raises:
    ///     `ValueError`: A PEM lacks its certificates or key, or the key does not fit the certificate.
    #[new]
    #[pyo3(signature = (ca=None, cert=None, key=None))]
    fn new(ca: Option<Pem>, cert: Option<Pem>, key: Option<Pem>) -> PyResult<Self> {
        let refuse = |problem: String| PyValueError::new_err(format!("TLS: {problem}"));
        let verifier = Arc::new(Verifier::new(ca).map_err(refuse)?);
        let identity = cert.zip(key).map(|(cert, key)| identity(cert, key)).transpose().map_err(refuse)?;
        Ok(Self { verifier, identity })
    }
}

impl Tls {
    /// # Errors
    /// The host of the address cannot be a name in a certificate.
    pub(crate) fn secure(&self, endpoint: Endpoint, host: &str) -> Result<Endpoint, tonic::transport::Error> {
        let mut config = ClientTlsConfig::new().domain_name(host);
        if let Some((cert, key)) = &self.identity {
            config = config.identity(Identity::from_pem(cert, key));
        }
        endpoint.tls_config_with_verifier(config, Arc::clone(&self.verifier) as Arc<dyn ServerCertVerifier>)
    }

    /// Returns whether the client authenticates with a certificate.
    pub(crate) fn has_identity(&self) -> bool {
        self.identity.is_some()
    }
}

fn identity((cert_name, cert): Pem, (key_name, key): Pem) -> Result<(Vec<u8>, Vec<u8>), String> {
    let chain = certificates(&cert);
    if chain.is_empty() {
        return Err(format!("no certificate in PEM in cert={cert_name}"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|_| format!("no private key in PEM in key={key_name}"))?;
    CertifiedKey::from_der(chain, secret, &default_provider()).map_err(|error| match error {
        Error::InconsistentKeys(_) => format!("key={key_name} is not the key of cert={cert_name}"),
        error => format!("key={key_name} cannot be used: {error}"),
    })?;
    Ok((cert, key))
}

/// Returns the certificates in a PEM, without those that cannot be read.
fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

/// Returns the roots that this system trusts. `SSL_CERT_FILE` names another file, `SSL_CERT_DIR` additional folders.
fn system_roots() -> Vec<CertificateDer<'static>> {
    let mut roots = rustls_native_certs::load_native_certs().certs;
    if std::env::var_os("SSL_CERT_DIR").is_some()
        && std::env::var_os("SSL_CERT_FILE").is_none()
        && let Some(bundle) = openssl_probe::probe().cert_file
    {
        // If only `SSL_CERT_DIR` is set, `load_native_certs` does not read the system's own file.
        roots.extend(rustls_native_certs::load_certs_from_paths(Some(&bundle), None).certs);
    }
    roots
}

/// A verifier that trusts a server by its root, as usual, or because the roots contain the server's own certificate.
///
/// Users who create a certificate with `openssl req -x509` expect the second. The usual check refuses a CA certificate
/// as a server certificate.
#[derive(Debug)]
struct Verifier {
    roots: Vec<CertificateDer<'static>>,
    usual: Arc<WebPkiServerVerifier>,
}

impl Verifier {
    fn new(ca: Option<Pem>) -> Result<Self, String> {
        let (place, roots) = match ca {
            Some((name, pem)) => (format!("ca={name}"), certificates(&pem)),
            None => ("the system's store".to_owned(), system_roots()),
        };
        let mut store = RootCertStore::empty();
        if store.add_parsable_certificates(roots.iter().cloned()).0 == 0 {
            return Err(format!("no certificates in PEM to trust in {place}"));
        }
        let usual =
            WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::new(default_provider()));
        Ok(Self { roots, usual: usual.build().expect("there are roots and no revocation lists") })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(_) if self.roots.contains(end_entity) => {
                check_dates(end_entity, now)?;
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Refuses a certificate that has expired or is not yet valid.
fn check_dates(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let parsed = EndEntityCert::try_from(certificate).map_err(|_| CertificateError::BadEncoding)?;
    // Without a root the verification always fails, but it checks the dates first.
    let (algorithms, usage) = (webpki::ALL_VERIFICATION_ALGS, KeyUsage::server_auth());
    match parsed.verify_for_usage(algorithms, &[], &[], now, usage, None, None) {
        Err(webpki::Error::CertExpired { .. }) => Err(CertificateError::Expired.into()),
        Err(webpki::Error::CertNotValidYet { .. }) => Err(CertificateError::NotValidYet.into()),
        _ => Ok(()),
    }
}
