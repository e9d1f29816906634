use crate::rauha::Rauha;
use boardwire_kernel::*;
use std::sync::Arc;
#[test]
#[ignore]
fn speed() {
    for seats in [2u8, 5] {
        let game: Arc<Rauha> = testkit::table(seats, &[]);
        let mut dice = Dice::new(1, BOT_STREAM);
        let mut view = vec![0u8; game.info().layout.bytes()];
        println!("view bytes {}", view.len());
        let mut mask = [0u8; 16];
        let mut n = 0u64;
        let t = std::time::Instant::now();
        let mut games = 0;
        let mut scores = 0i64;
        let (mut forced, mut plies) = (0u64, 0u64);
        while t.elapsed().as_secs_f64() < 3.0 {
            let mut e = Episode::seeded(Arc::clone(&game), games);
            games += 1;
            while let Some(seat) = e.pending().lowest() {
                let legal = game.legal(e.state(), seat);
                game.view(e.state(), seat, &mut view);
                legal.write_bits(&mut mask);
                if legal.len() == 1 {
                    forced += 1;
                }
                let a = legal.nth(dice.below(legal.len())).unwrap();
                e.apply(seat, a.into()).unwrap();
                n += 1;
                plies += 1;
            }
            scores += e
                .outcome()
                .unwrap()
                .scores()
                .iter()
                .map(|&s| i64::from(s))
                .sum::<i64>();
        }
        println!(
            "{} seats: {:.3} M decisions/s, {} plies/game, forced {:.2}, mean score {}",
            seats,
            n as f64 / t.elapsed().as_secs_f64() / 1e6,
            plies / games,
            forced as f64 / n as f64,
            scores / games as i64 / i64::from(seats)
        );
    }
    println!("state {}", std::mem::size_of::<crate::rauha::State>());
}
