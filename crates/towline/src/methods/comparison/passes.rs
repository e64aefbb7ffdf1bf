//! The one loop of all baselines that see a row at a time.
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::bound::certify;
use super::{BaselineOptions, Online};
use crate::base::random::shuffle;
use crate::block::RowInfo;
use crate::budget::Budget;
use crate::engine::certificate::sq_norm;
use crate::engine::{
    Ceiling, Certificate, Cost, Observer, Pass, Session, Standing, TrainError, Trained, Watch, margins_of,
};
use crate::loss::Loss;
use crate::loss::classes::{ClassLoss, CrammerSinger};
use crate::objective::Objective;
use crate::order::{Order, Permutation};
use crate::store::{BlockId, BlockStore};

/// A run of a baseline.
pub struct Passes<'a, L> {
    pub store: Arc<dyn BlockStore>,
    pub options: &'a BaselineOptions,
    pub budget: &'a Budget,
    pub observer: &'a mut dyn Observer,
    pub loss: L,
}

impl<L: Loss> Passes<'_, L> {
    /// Lets the rule that `make` makes see every row once a pass.
    pub fn run<R: Online>(self, make: impl FnOnce() -> R) -> Result<Trained, TrainError> {
        let Passes { store, options, budget, observer, loss } = self;
        let watch = Watch::new(&options.stop, options.max_time);
        let mut session = Session::new(watch, options.passes, observer);
        let blocks = store.blocks();
        let length = (store.shape().columns as usize + 1) * options.objective.width();
        let most_rows = blocks.iter().map(|block| u64::from(block.rows)).max().unwrap_or(0);
        let ids = 4 * (most_rows + blocks.len() as u64);
        let bytes = options.method.vectors() * 8 * length as u64 + ids;
        budget.check("weights and blocks", bytes + Pass::bytes(&*store))?;
        let mut pass = Pass::over(store.clone(), budget)?;
        let _paid = budget.reserve("weights", bytes)?;

        let objective = &options.objective;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
        let mut rows = Permutation::default();
        let mut order: Vec<BlockId> = pass.blocks().collect();
        let mut w = vec![0.0; length];
        let mut rule = make();
        let mut fresh = true;
        let status = loop {
            shuffle(&mut order, &mut random);
            pass.ask_for(order.iter().copied());
            let mut stop = None;
            while stop.is_none() {
                let Some((block, _)) = pass.next(&mut session.cost)? else { break };
                session.cost.solving(|cost| {
                    if std::mem::take(&mut fresh) {
                        rule.look_at(&block, objective);
                    }
                    rows.begin_sweep(block.rows(), &mut random);
                    while let Some(i) = rows.next() {
                        let (y, c) = target(objective, &block.info(i));
                        if c > 0.0 {
                            rule.learn(block.row(i), y, c);
                            cost.visits += 1;
                        }
                    }
                    rule.end_block();
                });
                stop = session.watch().look();
            }
            pass.break_off()?;
            session.cost.passes += 1;
            session.cost.sweeps += 1;
            rule.write(&mut w);
            if w.iter().any(|w| !w.is_finite()) {
                return Err(TrainError::Diverged { method: options.method.name() });
            }
            session.tell(Standing::default(), &[&w]);
            if session.cost.visits == 0 {
                return Err(TrainError::NoWeight);
            }
            if let Some(status) = stop.or_else(|| session.out_of_passes()) {
                break status;
            }
        };
        // Its vectors make room for the two that the certificate needs.
        drop(rule);
        let certificate = match objective.width() > 1 || objective.truncate.is_some() {
            true => judge(&mut pass, objective, &w, &mut session.cost)?,
            false => {
                let v = &mut [vec![0.0; length], vec![0.0; length]];
                certify(&mut pass, loss, objective, (&w, v), &mut session.cost)?
            }
        };
        session.tell(Standing::by_bound(certificate), &[&w]);
        Ok(session.end(w, status, certificate).by_baseline(options.method))
    }
}

/// F at w for many classes, or for a loss that is cut off. The rules know no bound; that no loss is below 0 is one.
fn judge(pass: &mut Pass, objective: &Objective, w: &[f64], cost: &mut Cost) -> Result<Certificate, TrainError> {
    let mut margins = vec![0.0; objective.width()];
    let ceiling = Ceiling::of(objective);
    let mut losses = 0.0;
    cost.certifying(|cost| {
        pass.scan(cost, |block, _| {
            for i in 0..block.rows() {
                let (y, c) = target(objective, &block.info(i));
                if c > 0.0 {
                    margins_of(block.row(i), w, objective.bias, &mut margins);
                    losses += c * match margins[..] {
                        [z] => ceiling.value_at(y, z),
                        _ => CrammerSinger.value(y as usize, &margins),
                    };
                }
            }
            Ok(())
        })
    })?;
    Ok(Certificate { objective: 0.5 * sq_norm(w) + losses, multiple: 1.0, ..Certificate::default() })
}

/// Target and weight of a row; its class, where there are many.
fn target(objective: &Objective, info: &RowInfo) -> (f64, f64) {
    match objective.width() {
        1 => objective.row(info),
        _ => objective.class(info).map_or((0.0, 0.0), |(class, c)| (class as f64, c)),
    }
}
