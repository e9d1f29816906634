//! Generates the code in a temporary folder and compares it with the committed code. `make proto` updates that code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The proto files of the protocol, and the files that clients need to read errors, sorted by path.
const PROTO_PATHS: &[&str] = &[
    "boardwire/v1/batch.proto",
    "boardwire/v1/catalog.proto",
    "boardwire/v1/match.proto",
    "boardwire/v1/match_service.proto",
    "boardwire/v1/observation.proto",
    "boardwire/v1/replay.proto",
    "boardwire/v1/search.proto",
    "google/rpc/error_details.proto",
    "google/rpc/status.proto",
];

const GENERATED: &[&str] = &["boardwire.v1.rs", "boardwire.v1.bin", "files.rs", "google.rpc.rs"];

fn protocol() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto")
}

/// Generates the code into `out`, without `protoc`.
fn generate(out: &Path) {
    let mut compiler = protox::Compiler::new([protocol()]).expect("the proto folder can be read");
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(PROTO_PATHS).expect("the protocol compiles");
    tonic_prost_build::configure()
        .out_dir(out)
        .bytes(".")
        .btree_map(".")
        .extern_path(".google.rpc", "crate::rpc")
        .client_mod_attribute(".", "#[cfg(feature = \"client\")]")
        .server_mod_attribute(".", "#[cfg(feature = \"server\")]")
        .compile_fds(compiler.file_descriptor_set())
        .expect("the code can be generated");
    generate_status(out);
    compiler.include_source_info(false);
    std::fs::write(out.join("boardwire.v1.bin"), compiler.encode_file_descriptor_set())
        .expect("the descriptors can be written");
    std::fs::write(out.join("files.rs"), proto_files_code()).expect("the proto files can be written");
}

/// Generates `google.rpc.Status`, which responses contain, for builds without tonic.
fn generate_status(out: &Path) {
    let mut compiler = protox::Compiler::new([protocol()]).expect("the proto folder can be read");
    compiler.include_source_info(true);
    compiler.open_file("google/rpc/status.proto").expect("status.proto compiles");
    tonic_prost_build::configure()
        .out_dir(out)
        .compile_fds(compiler.file_descriptor_set())
        .expect("the code can be generated");
}

/// Returns Rust code with the text of the protocol as a constant.
fn proto_files_code() -> String {
    let mut code = "pub(super) const FILES: &[(&str, &str)] = &[\n".to_owned();
    for name in PROTO_PATHS {
        let text = std::fs::read_to_string(protocol().join(name)).expect("the protocol can be read");
        let mut quote = "#".to_owned();
        while text.contains(&format!("\"{quote}")) {
            quote.push('#');
        }
        write!(code, "(\"{name}\", r{quote}\"{text}\"{quote}),\n\n")
            .expect("writing to a string does not fail");
    }
    code + "];\n"
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gen")
}

#[test]
fn the_generated_code_is_up_to_date() {
    if std::env::var_os("BOARDWIRE_BLESS").is_some() {
        generate(&committed());
    }
    let temporary = tempfile::tempdir().expect("a temporary folder");
    generate(temporary.path());
    for name in GENERATED {
        let generated = std::fs::read(temporary.path().join(name)).expect("the file was just generated");
        let old = std::fs::read(committed().join(name)).unwrap_or_default();
        assert!(generated == old, "src/gen/{name} is stale: run `make proto`");
    }
}

#[test]
fn every_file_of_the_protocol_is_generated_from() {
    for package in ["boardwire/v1", "google/rpc"] {
        for file in std::fs::read_dir(protocol().join(package)).expect("the protocol can be read") {
            let name = file.expect("a file").file_name();
            let path = format!("{package}/{}", name.to_str().expect("a plain name"));
            assert!(PROTO_PATHS.contains(&path.as_str()), "{path} is missing from the list of this test");
        }
    }
}

#[test]
fn stubs_are_built_for_clients_and_traits_for_servers_alone() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    generate(temporary.path());
    for (package, side, expected) in [("boardwire.v1", "client", 4), ("boardwire.v1", "server", 4)] {
        let code = temporary.path().join(format!("{package}.rs"));
        let code = std::fs::read_to_string(code).expect("the file was just generated");
        let wanted = format!("#[cfg(feature = \"{side}\")]");
        let mut services = 0;
        for (module, _) in code.match_indices(&format!("_{side} {{\n")) {
            let head = code[..module].rfind("/// Generated").expect("each generated module has this line");
            assert!(code[head..module].contains(&wanted), "{}", &code[head..module]);
            services += 1;
        }
        assert_eq!(services, expected, "modules of {package} for the {side} side");
    }
}
