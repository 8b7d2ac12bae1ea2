//! Flags of the linker for wasm32: the stack, and the constructors.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("wasm32") {
        return;
    }
    // 16 MiB of stack, because the passes of the compiler recurse into nested expressions; the linker's default is 1 MiB.
    println!("cargo::rustc-link-arg-cdylib=-zstack-size=16777216");
    // salsa registers its queries in constructors. If they are exported, the page calls them once; otherwise the linker makes
    // every exported function call them.
    println!("cargo::rustc-link-arg-cdylib=--export=__wasm_call_ctors");
}
