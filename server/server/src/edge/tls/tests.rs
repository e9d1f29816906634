use rcgen::{CertifiedKey as Made, KeyPair, generate_simple_self_signed};
use tempfile::TempDir;

use super::*;

/// A folder with a certificate and its key.
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
        generate_simple_self_signed(["localhost".to_owned()]).expect("a name is all it takes");
    std::fs::write(&files.cert, cert.pem()).expect("the folder is ours");
    std::fs::write(&files.key, signing_key.serialize_pem()).expect("the folder is ours");
}

fn refusal(files: &TlsFiles) -> String {
    Tls::load(files.clone()).expect_err("it cannot be spoken with")
}

#[test]
fn what_is_missing_is_named() {
    for which in ["cert.pem", "key.pem"] {
        let (folder, files) = folder();
        let file = folder.path().join(which);
        std::fs::remove_file(&file).expect("it is there");
        let refused = refusal(&files);
        assert!(refused.contains(&format!("{}: No such file", file.display())), "{refused}");
        std::fs::write(&file, "nothing of it\n").expect("the folder is ours");
        let refused = refusal(&files);
        assert!(refused.contains(&format!("{}: no ", file.display())), "{refused}");
    }
}

#[test]
fn what_is_garbled_is_named() {
    let (_folder, files) = folder();
    for (file, problem) in [(&files.cert, "cert.pem: garbled"), (&files.key, "key.pem: ")] {
        let good = std::fs::read_to_string(file).expect("it is there");
        let (head, body) = good.split_at(good.find('\n').expect("lines"));
        for garbled in [
            good.replace("-----END", "-----"),
            format!("{head}\nA?{}", &body[3..]),
            format!("{head}\nAAAA{}", &body[5..]),
        ] {
            std::fs::write(file, garbled).expect("the folder is ours");
            let refused = refusal(&files);
            assert!(refused.contains(problem), "{refused}");
        }
        std::fs::write(file, good).expect("the folder is ours");
    }
    Tls::load(files).expect("all is good again");
}

#[test]
fn a_key_of_another_certificate_is_named() {
    let (_folder, files) = folder();
    let other = KeyPair::generate().expect("a key").serialize_pem();
    std::fs::write(&files.key, other).expect("the folder is ours");
    let refused = refusal(&files);
    let expected = format!("TLS key {}: not the key of {}", files.key.display(), files.cert.display());
    assert_eq!(refused, expected);
}

#[test]
fn an_encrypted_key_is_told_from_none() {
    let (_folder, files) = folder();
    let key = std::fs::read_to_string(&files.key).expect("it is there");
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    std::fs::write(&files.key, encrypted).expect("the folder is ours");
    assert!(refusal(&files).ends_with("no private key in PEM that is not encrypted"));
}

#[test]
fn roots_of_clients_must_be_some() {
    let (folder, mut files) = folder();
    files.client_ca = Some(folder.path().join("ca.pem"));
    assert!(refusal(&files).contains("root of clients' TLS certificates"));
    std::fs::copy(&files.key, folder.path().join("ca.pem")).expect("the folder is ours");
    assert!(refusal(&files).ends_with("ca.pem: no certificate in PEM"));
    std::fs::copy(&files.cert, folder.path().join("ca.pem")).expect("the folder is ours");
    Tls::load(files).expect("a root is all it takes");
}

#[test]
fn what_cannot_be_read_again_leaves_what_was_read() {
    let (_folder, files) = folder();
    let tls = Tls::load(files.clone()).expect("all is good");
    let first = Arc::clone(tls.acceptor().config());
    std::fs::write(&files.key, "").expect("the folder is ours");
    tls.reload().expect_err("there is no key");
    assert!(Arc::ptr_eq(tls.acceptor().config(), &first));
    write(&files);
    tls.reload().expect("all is good again");
    assert!(!Arc::ptr_eq(tls.acceptor().config(), &first));
}
