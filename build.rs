//! The scenarios are embedded in the library: it is rebuilt when they change.

fn main() {
    println!("cargo:rerun-if-changed=experiments");
}
