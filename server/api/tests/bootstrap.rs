//! Generates the code aside and compares it with what is committed; `make proto` commits it anew.

use std::path::{Path, PathBuf};

/// Generates into `out`, without `protoc`.
fn generate(out: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let files = ["batch", "batch_service", "catalog", "match", "match_service", "observation"];
    let files = files.map(|name| format!("boardwire/v1/{name}.proto"));
    let mut compiler = protox::Compiler::new([&root]).expect("the proto folder can be read");
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(files).expect("the protocol compiles");
    tonic_prost_build::configure()
        .out_dir(out)
        .bytes(".")
        .btree_map(".")
        .extern_path(".google.rpc", "::tonic_types::pb")
        .compile_fds(compiler.file_descriptor_set())
        .expect("the code can be generated");
    compiler.include_source_info(false);
    std::fs::write(out.join("boardwire.v1.bin"), compiler.encode_file_descriptor_set())
        .expect("the descriptors can be written");
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gen")
}

#[test]
fn the_generated_code_is_fresh() {
    if std::env::var_os("BOARDWIRE_BLESS").is_some() {
        generate(&committed());
    }
    let aside = tempfile::tempdir().expect("a temporary folder");
    generate(aside.path());
    for name in ["boardwire.v1.rs", "boardwire.v1.bin"] {
        let fresh = std::fs::read(aside.path().join(name)).expect("it was just generated");
        let old = std::fs::read(committed().join(name)).unwrap_or_default();
        assert!(fresh == old, "src/gen/{name} is stale: `make proto` writes it anew");
    }
}
