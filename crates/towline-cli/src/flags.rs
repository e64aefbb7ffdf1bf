//! What the library calls a setting, as it is typed: `` `memory(64)` `` is `--memory 64`.
use towline::wording::reword;

/// Settings that are commands here.
const COMMANDS: [&str; 4] = ["index", "pack", "path", "verify"];

/// A message of the library with the names of options and commands.
pub fn typed(message: &str) -> String {
    reword(message, |name, value| {
        let is_command = COMMANDS.contains(&name);
        let mut words = match name {
            _ if is_command => format!("towline {name}"),
            "c" => "-C".to_string(),
            "violation" => "-e".to_string(),
            _ => format!("--{}", name.replace('_', "-")),
        };
        if let Some(value) = value {
            words += " ";
            words += &value.replace(").to(", " -o ");
        }
        if is_command { format!("'{words}'") } else { words }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_options_and_commands() {
        assert_eq!(typed("use `memory(64)`, `c`, or `hash_bits`"), "use --memory 64, -C, or --hash-bits");
        assert_eq!(typed("make one with `pack(INPUT).to(STORE)`"), "make one with 'towline pack INPUT -o STORE'");
        assert_eq!(typed("`verify` lists `x`"), "'towline verify' lists `x`");
    }
}
