//! What goes into a store comes out of it, however it was packed.
mod append;
mod golden;
mod inputs;
mod order;
mod roundtrip;
mod scale;
mod summaries;
