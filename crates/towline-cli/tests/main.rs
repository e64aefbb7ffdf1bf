//! All tests that run the command line, in one program: linking one for each file would take gigabytes.

mod budget;
mod classes;
mod crash;
mod cv;
mod exports;
mod faults;
mod fourier;
mod hostile;
mod index;
mod interrupted_training;
mod judging;
mod malformed;
mod messages;
mod methods;
mod outputs;
mod path;
mod snapshots;
mod store;
mod streams;
mod tables;
mod targets;
mod train;
mod training_memory;
mod whole_process;
mod workbench;
