//! `towline`: exact linear models on data larger than memory.
// They panic where nobody reads, or where a disk is full: show::print and show::say do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]
mod algorithm;
mod allocator;
mod beside;
mod cat;
mod columns;
mod command_line;
mod cv;
mod destination;
mod eval;
mod exit;
mod export;
mod flags;
mod generate;
mod grid;
mod held_out;
mod index;
mod info;
mod input;
mod keep;
mod liblinear;
mod memory;
mod method;
mod objective;
mod pack;
mod path;
mod penalty;
mod plan;
mod positive;
mod predict;
mod preparation;
mod program;
mod progress;
mod quality;
mod recipe;
mod report;
mod schema;
mod show;
mod size;
mod stream;
mod summary;
mod top;
mod trace;
mod train;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Trains linear models exactly on data that does not fit in memory, inside a memory budget that it keeps.
#[derive(Parser)]
#[command(name = "towline", version, propagate_version = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Convert tables to a block store, once, which is fast to read
    Pack(pack::Arguments),
    /// Print what the columns of a table are taken for, as a file to edit
    Schema(schema::Arguments),
    /// Train a model to a certified distance from the optimum
    Train(Box<train::Arguments>),
    /// Compare values of C, or losses, by k-fold cross-validation
    Cv(Box<cv::Arguments>),
    /// Train a regularization path, each model warm-started from the one before
    Path(Box<path::Arguments>),
    /// Index a store, so that training with --truncate reads only the rows that matter
    Index(index::Arguments),
    /// Write the labels that a model predicts
    Predict(predict::Arguments),
    /// Evaluate a model on labelled rows
    Eval(eval::Arguments),
    /// Draw a page that shows how models converged, what they learnt and where they err
    Report(Box<report::Arguments>),
    /// Show where every byte of a training run would go
    Plan(plan::Arguments),
    /// Write a model for other programs: SQL, C, LIBLINEAR, JSON or text
    Export(export::Arguments),
    /// Show what a store or a model holds
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
    keep_guarded_panics_quiet();
    ignore_file_size_signal();
    let matches = Arguments::command().get_matches_from(liblinear::rewrite(std::env::args_os()));
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let typed = matches.subcommand().map(|(_, matches)| method::typed(matches)).unwrap_or_default();
    drop(matches);
    program::let_go_of_pages();
    let result = match arguments.verb {
        Verb::Pack(arguments) => pack::run(&arguments),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Cv(arguments) => cv::run(&arguments),
        Verb::Index(arguments) => index::run(&arguments),
        Verb::Predict(arguments) => predict::run(&arguments),
        Verb::Eval(arguments) => eval::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Export(arguments) => export::run(&arguments),
        Verb::Info(arguments) => info::run(&arguments),
        Verb::Verify(arguments) => verify::run(&arguments),
        Verb::Cat(arguments) => cat::run(&arguments),
        Verb::Train(arguments) => train::run(&arguments, &typed),
        Verb::Path(arguments) => path::run(&arguments, &typed),
        Verb::Completions(arguments) => generate::completions(&arguments),
        Verb::Man(arguments) => generate::man(&arguments),
    };
    exit::report(result)
}

/// Decoders of tables may panic on damaged files; that becomes an ordinary error, and needs no second message.
fn keep_guarded_panics_quiet() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !towline::input::arrow::is_decoding() {
            print(panic);
        }
    }));
}

/// A file that may not grow any more is an error with a name and a reason, and what was begun is cleared away; the
/// signal would end the process before either.
fn ignore_file_size_signal() {
    // SAFETY: no handler is installed, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
