//! What the page must never do, and what it must have.
use super::*;
use crate::budget::Budget;
use crate::report::{LabelledRows, Look, ModelReport, Question};
use crate::{Fit, Rows};

/// Names that pages have stumbled over.
const NAMES: [&str; 4] =
    ["<script>alert(1)</script>", "\"quoted\" & 'quoted'", "🚀 emoji", "عربى </style> \u{202e}desrever"];

fn report(rows: usize) -> Report {
    let random = |k: usize| xxhash_rust::xxh3::xxh3_64(&(k as u64).to_le_bytes()) as f64 / u64::MAX as f64 - 0.5;
    let values: Vec<f64> = (0..4 * rows).map(random).collect();
    let labels: Vec<f64> =
        values.chunks(4).enumerate().map(|(k, row)| (row[0] - row[2] + random(k + 77)).signum()).collect();
    let rows = Rows::dense(values, 4, &labels).unwrap();
    let model = Fit::logistic().command("towline train '</script><b>'").max_passes(20).run(&rows).unwrap();
    let names: Vec<String> = NAMES.iter().map(|name| name.to_string()).collect();
    let seen = LabelledRows::of_rows("<img src=x onerror=alert(1)>", &rows, Some(names.clone()));
    let budget = Budget::unlimited();
    let mut report = Report::new("</title><script>alert(2)</script>");
    let one = ModelReport::with_names("<b>model</b>", &model, Some(&names));
    report.add(one.judge(&model, &seen, Question::default(), &budget).unwrap());
    report.look_at(&seen, Look { model: &model, are_training: true }, &budget).unwrap();
    report
}

#[test]
fn all_text_is_escaped_and_only_our_script_runs() {
    let page = report(200).to_html();
    assert!(page.starts_with(REPORT_HEAD));
    // The numbers of the charts, and the script. Names are part of both, and end neither.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(page.matches("<style>").count(), 1);
    assert_eq!(page.matches("</style>").count(), 1);
    for hostile in ["<img", "<b>", "<script>alert", "onerror=alert(1)>"] {
        assert!(!page.contains(hostile), "{hostile}");
    }
    for shown in ["&lt;script&gt;alert(1)&lt;/script&gt;", "🚀 emoji", "عربى", "&quot;quoted&quot; &amp; 'quoted'"]
    {
        assert!(page.contains(shown), "{shown}");
    }
    // No style that the policy would refuse, and nothing from elsewhere.
    let body = &page[page.find("<body>").unwrap()..page.find("<script type").unwrap()];
    assert!(!body.contains(" style=") && !body.contains("http://") && !body.contains("https://"), "{body}");
}

#[test]
fn the_policy_names_the_hashes_of_script_and_style() {
    let page = report(50).to_html();
    let between = |begin: &str, end: &str| {
        let from = page.find(begin).unwrap() + begin.len();
        &page[from..from + page[from..].find(end).unwrap()]
    };
    let policy = between("Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(policy.contains(&format!("script-src '{}'", source_of(between("<script>", "</script>")))), "{policy}");
    assert!(policy.contains(&format!("style-src '{}'", source_of(between("<style>", "</style>")))), "{policy}");
    assert!(!policy.contains("unsafe"));
    // Known from elsewhere: the hash of nothing.
    assert_eq!(source_of(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

#[test]
fn every_section_is_there_and_the_page_is_small() {
    let small = report(300).to_html();
    for id in ["head", "convergence", "memory", "model", "rows", "data"] {
        assert!(small.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    // What grows with rows is thinned.
    let large = report(100_000).to_html();
    assert!(large.len() < 400_000, "{}", large.len());
    assert!(large.len() < small.len() + 150_000, "{} {}", large.len(), small.len());
}
