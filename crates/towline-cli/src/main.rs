//! `towline`: exact linear models on data larger than memory.
mod allocator;
mod cat;
mod exit;
mod generate;
mod info;
mod pack;
mod progress;
mod show;
mod size;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Trains linear models exactly on data that does not fit in memory, inside a memory budget that it keeps.
#[derive(Parser)]
#[command(name = "towline", version, propagate_version = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Pack tables into a block store, once, for fast reading ever after
    Pack(pack::Arguments),
    /// Show what a store holds
    Info(info::Arguments),
    /// Check every checksum of a store
    Verify(verify::Arguments),
    /// Write the rows of a store as libsvm text
    Cat(cat::Arguments),
    /// Print the completions for a shell
    Completions(generate::Completions),
    /// Write the manual pages into a folder
    Man(generate::Man),
}

fn main() -> ExitCode {
    allocator::give_back_freed_memory();
    ignore_file_size_signal();
    let arguments = Arguments::parse();
    let result = match arguments.verb {
        Verb::Pack(arguments) => pack::run(&arguments),
        Verb::Info(arguments) => info::run(&arguments),
        Verb::Verify(arguments) => verify::run(&arguments),
        Verb::Cat(arguments) => cat::run(&arguments),
        Verb::Completions(arguments) => generate::completions(&arguments),
        Verb::Man(arguments) => generate::man(&arguments),
    };
    exit::report(result)
}

/// A file that may not grow any more is an error with a name and a reason, and what was begun is cleared away; the signal would
/// end the process before either.
fn ignore_file_size_signal() {
    // SAFETY: no handler is installed, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
