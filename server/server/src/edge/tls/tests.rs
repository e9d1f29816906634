use rcgen::{CertifiedKey as Made, KeyPair, generate_simple_self_signed};
use tempfile::TempDir;

use super::*;

/// Creates a temporary folder with a certificate and its key.
fn folder() -> (TempDir, TlsFiles) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = TlsFiles {
        cert: folder.path().join("cert.pem"),
        key: folder.path().join("key.pem"),
        client_ca: None,
    };
    write(&files);
    (folder, files)
}

/// Writes a new certificate and its key.
fn write(files: &TlsFiles) {
    let Made { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).expect("the name is valid");
    std::fs::write(&files.cert, cert.pem()).expect("the folder is writable");
    std::fs::write(&files.key, signing_key.serialize_pem()).expect("the folder is writable");
}

fn load_error(files: &TlsFiles) -> String {
    Tls::load(files.clone()).expect_err("the files are invalid")
}

#[test]
fn an_error_names_the_missing_file() {
    for which in ["cert.pem", "key.pem"] {
        let (folder, files) = folder();
        let file = folder.path().join(which);
        std::fs::remove_file(&file).expect("the file exists");
        let error = load_error(&files);
        assert!(error.contains(&format!("{}: No such file", file.display())), "{error}");
        std::fs::write(&file, "no PEM\n").expect("the folder is writable");
        let error = load_error(&files);
        assert!(error.contains(&format!("{}: no ", file.display())), "{error}");
    }
}

#[test]
fn an_error_names_the_malformed_file() {
    let (_folder, files) = folder();
    for (file, problem) in [(&files.cert, "cert.pem: malformed"), (&files.key, "key.pem: ")] {
        let good = std::fs::read_to_string(file).expect("the file exists");
        let (head, body) = good.split_at(good.find('\n').expect("PEM has lines"));
        for malformed in [
            good.replace("-----END", "-----"),
            format!("{head}\nA?{}", &body[3..]),
            format!("{head}\nAAAA{}", &body[5..]),
        ] {
            std::fs::write(file, malformed).expect("the folder is writable");
            let error = load_error(&files);
            assert!(error.contains(problem), "{error}");
        }
        std::fs::write(file, good).expect("the folder is writable");
    }
    Tls::load(files).expect("the files are valid again");
}

#[test]
fn an_error_names_a_key_of_another_certificate() {
    let (_folder, files) = folder();
    let other = KeyPair::generate().expect("a key").serialize_pem();
    std::fs::write(&files.key, other).expect("the folder is writable");
    let error = load_error(&files);
    let expected = format!("TLS key {}: not the key of {}", files.key.display(), files.cert.display());
    assert_eq!(error, expected);
}

#[test]
fn an_encrypted_key_is_refused() {
    let (_folder, files) = folder();
    let key = std::fs::read_to_string(&files.key).expect("the file exists");
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    std::fs::write(&files.key, encrypted).expect("the folder is writable");
    assert!(load_error(&files).ends_with("no private key in PEM, or an encrypted one"));
}

#[test]
fn the_file_of_client_roots_must_contain_a_root() {
    let (folder, mut files) = folder();
    files.client_ca = Some(folder.path().join("ca.pem"));
    assert!(load_error(&files).contains("client CA certificate"));
    std::fs::copy(&files.key, folder.path().join("ca.pem")).expect("the folder is writable");
    assert!(load_error(&files).ends_with("ca.pem: no certificate in PEM"));
    std::fs::copy(&files.cert, folder.path().join("ca.pem")).expect("the folder is writable");
    Tls::load(files).expect("the root is valid");
}

#[test]
fn a_failed_reload_keeps_the_old_configuration() {
    let (_folder, files) = folder();
    let tls = Tls::load(files.clone()).expect("the files are valid");
    let first = Arc::clone(tls.acceptor().config());
    std::fs::write(&files.key, "").expect("the folder is writable");
    tls.reload().expect_err("the key is missing");
    assert!(Arc::ptr_eq(tls.acceptor().config(), &first));
    write(&files);
    tls.reload().expect("the files are valid again");
    assert!(!Arc::ptr_eq(tls.acceptor().config(), &first));
}
