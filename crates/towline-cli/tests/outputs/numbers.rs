//! Numbers that floating point does not have never come into a model that was good.
use super::bench;

#[test]
fn impossible_numbers_are_refused_before_training_and_the_model_stays() {
    let bench = bench();
    bench.file("labels.svm", "1e308 1:1\n-1e308 2:1\n3 1:2\n");
    bench.file("values.svm", "1 1:1e308\n-1 2:1e308\n");
    bench.file("weights", "1e308\n".repeat(400));
    bench.ok("pack values.svm -o values.tow --precision f64 -q");
    let model = std::fs::read(bench.path("m.towm")).unwrap();
    for command in [
        "train a.tow -o m.towm -C 1e308 -q",
        "train a.tow -o m.towm -C 1e300 --penalty l1 -q",
        "train a.tow -o m.towm --lambda 1e-300 -q",
        "train labels.svm -o m.towm --loss squared -q",
        "pack a.svm -o weights.tow --weights weights -q",
        "train values.tow -o m.towm -q",
    ] {
        let ended = bench.run(command);
        assert!(matches!(ended.code, Some(1 | 4)), "{command}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{command}: {}", ended.stderr);
        assert!(std::fs::read(bench.path("m.towm")).unwrap() == model, "{command}");
    }
    // What comes as a stream is known only when it has come; a model that is written can be read.
    let ended = bench.run("train labels.svm --stream -o m.towm --loss squared -q");
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    bench.ok("info m.towm");
}

#[test]
fn the_largest_feature_number_is_a_feature_like_others() {
    let bench = bench();
    bench.file("large.svm", "1 18446744073709551615:1\n-1 1:1\n1 2:1 18446744073709551615:2\n-1 1:2\n");
    bench.ok("train large.svm -o large.towm -q");
    assert_eq!(bench.ok("predict large.towm large.svm"), "1\n-1\n1\n-1\n");
    assert_eq!(bench.ok("predict large.towm large.svm.tow"), "1\n-1\n1\n-1\n");
    bench.ok("eval large.towm large.svm");
    bench.ok("train large.svm --stream -o stream.towm -q");
    bench.ok("predict stream.towm large.svm");
    bench.ok("cat large.svm.tow");
}

#[test]
fn a_gamma_that_makes_noise_or_constants_is_refused() {
    let bench = bench();
    for gamma in ["1e300", "1e80", "1e55", "1e-300", "1e-50"] {
        for keep in ["seed", "values"] {
            let ended = bench.run(&format!("pack a.svm -o f.tow --rff 16 --gamma {gamma} --rff-keep {keep} -q"));
            assert!(matches!(ended.code, Some(1 | 4)), "{gamma}: {ended:?}");
            assert!(ended.stderr.contains("--gamma"), "{gamma}: {}", ended.stderr);
            assert!(!bench.path("f.tow").exists());
        }
    }
    bench.ok("pack a.svm -o f.tow --rff 16 --gamma 1e-3 -q");
    bench.ok("train f.tow -o f.towm -q");
}
