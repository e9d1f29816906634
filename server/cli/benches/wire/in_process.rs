//! Measures batches without a network: the engine's time for a step.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use boardwire_api::MAX_MESSAGE_BYTES;
use boardwire_api::v1::AutoresetMode;
use boardwire_batch::Player;
use boardwire_batch::batch::{Actions, Batch, BatchOptions, EnvironmentConfig, LineUp, Reset};
use boardwire_batch::pool::Pool;
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::{Table, Tables};
use boardwire_kernel::{BOT_STREAM, RngStream};

use crate::batch::legal_action;
use crate::measure::print;

const SIZES: [usize; 6] = [1, 16, 64, 256, 1024, 4096];
/// The time spent in steps for one sample.
const SAMPLE_TIME: Duration = Duration::from_millis(100);
const SAMPLES: usize = 21;

/// Measures batches of every game at two seats, of all sizes, with one and two threads. Skips rows whose name lacks `part`.
pub(crate) fn run(json: bool, part: &str) -> anyhow::Result<()> {
    let tables = Tables::new(Registry::standard());
    for game in boardwire_games::IDS {
        for threads in [1, 2] {
            let pool = Pool::new(threads)?;
            for environments in SIZES {
                let row = format!("batch {game} x{environments} in process, threads {threads}");
                if row.contains(part) {
                    let rates = measure(&tables.table(game, 2, [])?, environments, &pool)?;
                    print(&row, rates, "decisions/s", json);
                }
            }
        }
    }
    Ok(())
}

/// Returns the decisions per second of every sample. Only the time of steps counts.
fn measure(table: &Arc<Table>, environments: usize, pool: &Pool) -> anyhow::Result<Vec<f64>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let line_up = LineUp::of(vec![Player::Agent; 2]).context("agents")?;
    let config =
        EnvironmentConfig { autoreset: AutoresetMode::SameStep, ..EnvironmentConfig::of(vec![line_up]) };
    let options = BatchOptions { config, environments, first: 0, seed: 7, message_bytes: MAX_MESSAGE_BYTES };
    let batch =
        runtime.block_on(Batch::open(String::new(), Arc::clone(table), options, &pool.new_group()))?;
    let mut rng = RngStream::new(0, BOT_STREAM);
    let mut latest = runtime.block_on(batch.reset(Reset::default(), None))?;
    let mut sample = || -> anyhow::Result<f64> {
        let (mut stepping, mut decisions) = (Duration::ZERO, 0_u32);
        while stepping < SAMPLE_TIME {
            let masks = latest.mask().chunks_exact(latest.mask().len() / environments);
            let actions: Vec<u8> = masks.map(|mask| legal_action(mask, &mut rng)).collect();
            decisions += u32::try_from(actions.len())?;
            let start = Instant::now();
            latest = runtime.block_on(batch.step(0, 0, Actions::of_all(actions.into()), None))?;
            stepping += start.elapsed();
        }
        Ok(f64::from(decisions) / stepping.as_secs_f64())
    };
    // The first sample is the warm-up.
    sample()?;
    (0..SAMPLES).map(|_| sample()).collect()
}
