//! Experiments and languages are embedded in the library: it is rebuilt when they change.

fn main() {
    println!("cargo:rerun-if-changed=experiments");
    println!("cargo:rerun-if-changed=locales");
}
