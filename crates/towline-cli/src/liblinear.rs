//! Options as users of LIBLINEAR's `train` type them, where they mean exactly the same; where not, a word on what to
//! use.
//!
//! | LIBLINEAR | here |
//! | --- | --- |
//! | `-s 0`, `-s 7` | `--loss logistic` |
//! | `-s 1`, `-s 2` | `--loss squared-hinge` |
//! | `-s 3` | `--loss hinge` |
//! | `-s 4` | `--multiclass crammer-singer` |
//! | `-s 11`, `-s 12` | `--loss squared-epsilon-insensitive` |
//! | `-s 13` | `--loss epsilon-insensitive` |
//! | `-e E` of the dual solvers for classes (1, 3) | `--stop kkt -e E` |
//! | `-c`, `-p`, `-q` | `-C`, `--epsilon`, `--quiet` |
//! | `-B b` | `--bias b`; none if b is negative |
//! | `-wLABEL W` | `--class-weight LABEL=W` |
use std::ffi::OsString;

use towline::objective::Multiclass;

/// What a solver type (`-s`) of LIBLINEAR minimises. Its primal and dual solvers minimise the same objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solver {
    /// The loss.
    pub loss: &'static str,
    /// How classes are told apart, where that belongs to the type.
    pub multiclass: Option<Multiclass>,
}

/// The objective of a solver type.
pub fn solver(text: &str) -> Result<Solver, String> {
    let multiclass = (text == "4").then_some(Multiclass::CrammerSinger);
    let loss = match text {
        "0" | "7" => "logistic",
        "1" | "2" => "squared-hinge",
        "3" | "4" => "hinge",
        "11" | "12" => "squared-epsilon-insensitive",
        "13" => "epsilon-insensitive",
        "5" | "6" => {
            return Err("it has an l1 penalty; use --penalty l1 with --loss squared-hinge (5) or logistic (6)".into());
        }
        "21" => return Err("one-class models are not available".into()),
        _ => return Err("solver types are 0, 1, 2, 3, 4, 7, 11, 12 and 13; or name the loss with --loss".into()),
    };
    Ok(Solver { loss, multiclass })
}

/// The value of the constant feature; a negative one means that there is none.
pub fn bias(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(bias) if bias.is_finite() => Ok(bias.max(0.0)),
        _ => Err("name a number".into()),
    }
}

/// Turns `-wLABEL W` of `towline train` into `--class-weight LABEL=W`.
pub fn rewrite(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.into_iter().peekable();
    let mut rewritten: Vec<OsString> = arguments.by_ref().take(2).collect();
    if rewritten.get(1).is_none_or(|verb| verb != "train") {
        rewritten.extend(arguments);
        return rewritten;
    }
    while let Some(argument) = arguments.next() {
        match (class_of(&argument), arguments.peek().and_then(|next| next.to_str())) {
            (Some(class), Some(weight)) => {
                rewritten.push("--class-weight".into());
                rewritten.push(format!("{class}={weight}").into());
                arguments.next();
            }
            _ => rewritten.push(argument),
        }
    }
    rewritten
}

/// The label in `-wLABEL`, if that is what it is: LIBLINEAR knows numbers only.
fn class_of(argument: &OsString) -> Option<String> {
    let label = argument.to_str()?.strip_prefix("-w")?;
    label.parse::<f64>().ok().map(|_| label.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> String {
        let words = rewrite(line.split(' ').map(OsString::from));
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn class_weights_are_spelled_out_for_train_alone() {
        assert_eq!(
            rewritten("towline train -w1 2 -w-1 0.5 a.svm -c 4"),
            "towline train --class-weight 1=2 --class-weight -1=0.5 a.svm -c 4"
        );
        for line in
            ["towline pack -w1 2", "towline train -w", "towline train -w1", "towline", "towline train --weight 3"]
        {
            assert_eq!(rewritten(line), line);
        }
    }

    #[test]
    fn every_solver_type_has_a_loss_or_a_reason() {
        for (types, name) in [
            (&["0", "7"][..], "logistic"),
            (&["1", "2"], "squared-hinge"),
            (&["3", "4"], "hinge"),
            (&["11", "12"], "squared-epsilon-insensitive"),
            (&["13"], "epsilon-insensitive"),
        ] {
            types.iter().for_each(|solver| assert_eq!(self::solver(solver).map(|found| found.loss), Ok(name)));
        }
        for solver in ["5", "6", "21", "8", "x", ""] {
            assert!(self::solver(solver).is_err());
        }
    }
}
