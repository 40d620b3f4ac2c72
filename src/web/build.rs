//! Embeds the built client, if there is one.
fn main() {
    println!("cargo::rerun-if-changed=src/web/dist");
}
