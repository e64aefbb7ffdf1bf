//! What a training run says at its end.
use std::path::Path;
use std::time::Instant;

use towline::evaluate::Quality;
use towline::model::Header;
use towline::objective::Targets;
use towline::trainer::{Certificate, Status};

use crate::{quality, show, size};

/// For programs.
pub fn json(
    header: &Header,
    pack_seconds: f64,
    begin: Instant,
    solver: Option<&str>,
    test: Option<&Quality>,
) -> anyhow::Result<serde_json::Value> {
    let (certificate, cost) = (header.certificate, &header.cost);
    let classes = header.certificates.iter().zip(header.objective.targets.names()).map(|(certificate, name)| {
        serde_json::json!({
            "class": name,
            "objective": certificate.objective,
            "dual_objective": certificate.dual_objective,
            "relative_gap": certificate.relative_gap(),
            "support": certificate.support,
        })
    });
    Ok(serde_json::json!({
        "schema": 1,
        "status": header.status,
        "objective": certificate.map(|certificate| certificate.objective),
        "dual_objective": certificate.map(|certificate| certificate.dual_objective),
        "relative_gap": certificate.map(|certificate| certificate.relative_gap()),
        "solver": solver,
        "passes": cost.passes,
        "sweeps": cost.sweeps,
        "visits": cost.visits,
        "bytes_read": cost.bytes_read,
        "peak_memory_bytes": towline::machine::peak_memory_bytes(),
        "seconds": {
            "total": begin.elapsed().as_secs_f64(),
            "pack": pack_seconds,
            "training": cost.seconds,
            "read": cost.read_seconds,
            "solve": cost.solve_seconds,
            "certify": cost.certify_seconds,
        },
        "support": certificate.map(|certificate| certificate.support),
        "unbounded_support": certificate.and_then(|certificate| certificate.unbounded),
        "violation": certificate.and_then(|certificate| certificate.violation),
        "classes": classes.collect::<Vec<_>>(),
        "test": test.map(|test| quality::json(test, None)).transpose()?,
    }))
}

/// How many there are, and how many of them no bound holds.
fn support(certificate: &Certificate) -> String {
    let all = show::count(certificate.support);
    match certificate.unbounded {
        Some(unbounded) if unbounded < certificate.support => {
            format!("{all}, {} of them between their bounds", show::count(unbounded))
        }
        _ => all,
    }
}

/// For a person; `solver` says which way was chosen if there was a choice.
pub fn text(output: &Path, header: &Header, pack_seconds: f64, solver: Option<&str>, test: Option<&Quality>) -> String {
    let cost = &header.cost;
    let is_baseline = header.baseline.is_some();
    let line = |name: &str, value: String| (name.to_string(), value);
    let status = match header.status {
        Status::Converged => "converged",
        Status::OutOfPasses if is_baseline => "all passes made",
        Status::Interrupted if is_baseline => "interrupted",
        Status::OutOfPasses if solver.is_some_and(|solver| solver != "dual" && solver != "columns") => {
            "not converged: the precision of the arithmetic is reached; towline pack --scale standard and --precision f64 \
             leave more of it"
        }
        Status::OutOfPasses => {
            "not converged: --max-passes reached; go on with more of them, with more --memory, or with rows of similar \
             scale (towline pack --scale standard)"
        }
        Status::OutOfTime | Status::OutOfPatience => {
            "not converged: --max-time reached; the same command with more of it goes on from here"
        }
        Status::Interrupted => "interrupted; the same command goes on from here",
        Status::Streamed => "one pass over a stream",
        other => other.name(),
    };
    let mut lines = vec![line("status", status.to_string())];
    if let Some(multiclass) = header.objective.targets.multiclass() {
        let classes = header.objective.targets.names().len();
        lines.push(line("classes", format!("{classes}, {}", multiclass.name())));
    }
    if let Targets::Several { names } = &header.objective.targets {
        lines.push(line("targets", format!("{}: {}", names.len(), names.join(", "))));
    }
    if let Some(certificate) = header.certificate {
        let bound = if is_baseline { "lower bound" } else { "dual objective" };
        lines.extend([
            line("objective", show::measure(certificate.objective)),
            line(bound, show::measure(certificate.dual_objective)),
            line("relative gap", format!("{:.2e}", certificate.relative_gap())),
            line("support vectors", support(&certificate)),
        ]);
        lines.extend(certificate.violation.map(|violation| line("violation", format!("{violation:.2e}"))));
    }
    lines.extend(solver.map(|solver| line("solver", solver.to_string())));
    lines.extend([
        line("passes", format!("{} ({} sweeps, {} row visits)", cost.passes, cost.sweeps, show::count(cost.visits))),
        line("bytes read", size::show(cost.bytes_read)),
        line("peak memory", size::show(towline::machine::peak_memory_bytes())),
        line(
            "seconds",
            format!(
                "{:.2} training ({:.2} waiting for blocks, {:.2} solving, {:.2} certifying), {pack_seconds:.2} packing",
                cost.seconds, cost.read_seconds, cost.solve_seconds, cost.certify_seconds
            ),
        ),
        line("model", output.display().to_string()),
    ]);
    if let Some(calibration) = &header.reporting.calibration {
        lines.push(line("calibration", format!("{}, {} folds", calibration.method, calibration.folds)));
    }
    if let Some(test) = test {
        lines.push(line("test", quality::line(test)));
    }
    show::table(&lines)
}
