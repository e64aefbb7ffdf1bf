//! What goes into a store comes out of it, however it was packed.
#[path = "store/append.rs"]
mod append;
#[path = "store/golden.rs"]
mod golden;
#[path = "store/inputs.rs"]
mod inputs;
#[path = "store/order.rs"]
mod order;
#[path = "store/roundtrip.rs"]
mod roundtrip;
#[path = "store/scale.rs"]
mod scale;
#[path = "store/summaries.rs"]
mod summaries;
mod workbench;
