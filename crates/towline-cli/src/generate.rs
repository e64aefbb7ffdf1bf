//! Completions and manual pages, made from the argument parser itself so that they cannot go stale.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use towline::output::{Inputs, Kind, OutputFile};

use crate::show;

/// Arguments of `towline completions`.
#[derive(clap::Args)]
pub struct Completions {
    /// The shell to print completions for
    shell: clap_complete::Shell,
}

/// Arguments of `towline man`.
#[derive(clap::Args)]
pub struct Man {
    /// The folder to write towline.1, towline-pack.1, … into
    folder: PathBuf,
}

/// Prints completions on standard output.
pub fn completions(arguments: &Completions) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "towline", &mut text);
    show::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for the program and one per verb.
pub fn man(arguments: &Man) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut program = crate::Arguments::command().disable_help_subcommand(true);
    program.build();
    let verbs: Vec<clap::Command> = program.get_subcommands().cloned().collect();
    for command in std::iter::once(program).chain(verbs) {
        let page = clap_mangen::Man::new(command);
        let path = folder.join(page.get_filename());
        OutputFile::open(&path, Kind::Manual, &Inputs::none())?.write(|out| page.render(&mut *out))?;
    }
    Ok(ExitCode::SUCCESS)
}
